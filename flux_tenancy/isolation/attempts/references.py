"""Attempts to use others' sources, identities, namespaces and clusters through Flux's objects."""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.components.installs.flux.lockdown_flags import flags_for
from flux_tenancy.components.installs.flux.release import version_of
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.isolation.attempts.looking import arguments, has_flag, lacks_flags
from flux_tenancy.isolation.attempts.objects import (
    COPIED,
    NAME,
    artifact_generator,
    changed,
    chart,
    helm_release,
    kustomization,
    made,
    receiver,
)
from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.kinds import RESOURCES
from flux_tenancy.isolation.model import Access, Attempt, Finding, Live, Request, State
from flux_tenancy.isolation.scene import Scene

_ADMISSION = (Layer.ADMISSION,)
# Messages of Flux's controllers. The referenced objects do not exist, so the attempts have no effect.
BLOCKED = r"cross-namespace references (?:have been blocked|are not allowed)|[Aa]ccess denied"
NOT_FOUND = r"not found|NotFound"


def references(scene: Scene) -> Iterator[Attempt]:
    """References to another namespace (threats 1 to 3).

    Flux's own message comes before its flags: of two proofs that hold, the report shows the first.
    """
    foreign = {"name": NAME, "namespace": scene.flux}
    git = {"kind": "GitRepository"} | foreign
    kustomize, helm = has_refs_flag(scene, Controller.KUSTOMIZE), has_refs_flag(scene, Controller.HELM)
    sync = kustomization(scene, sourceRef=git)
    yield Attempt(
        "1-kustomization-source",
        1,
        "a Kustomization of a source in another namespace",
        (Request(sync, _ADMISSION, baseline=kustomization(scene)), _live(sync), kustomize),
    )
    yield Attempt(
        "1-helmrelease-source",
        1,
        "a HelmRelease of a chart source in another namespace",
        (
            Request(
                helm_release(scene, chart=chart(sourceRef={"kind": "HelmRepository"} | foreign)),
                _ADMISSION,
                baseline=helm_release(scene),
            ),
            helm,
        ),
    )
    release = helm_release(scene, chart=None, chartRef={"kind": "OCIRepository"} | foreign)
    yield Attempt(
        "1-helmrelease-chart",
        1,
        "a HelmRelease of a chart in another namespace",
        (Request(release, _ADMISSION, baseline=helm_release(scene)), _live(release), helm),
    )
    yield Attempt(
        "1-dependency",
        1,
        "a Kustomization that depends on one in another namespace",
        (
            Request(kustomization(scene, dependsOn=[foreign]), _ADMISSION, baseline=kustomization(scene)),
            kustomize,
        ),
    )
    notification = has_refs_flag(scene, Controller.NOTIFICATION)
    events = [{"kind": "Kustomization"} | foreign]
    yield Attempt(
        "2-alert",
        2,
        "an Alert for events of another namespace",
        (
            Request(made(scene, "Alert", {"providerRef": {"name": NAME}, "eventSources": events}), _ADMISSION),
            notification,
        ),
    )
    yield Attempt(
        "2-receiver",
        2,
        "a Receiver that triggers objects of another namespace",
        (Request(receiver(scene, resources=[git]), _ADMISSION), notification),
    )
    policy = made(scene, "ImagePolicy", {"imageRepositoryRef": foreign, "policy": {"numerical": {"order": "asc"}}})
    yield Attempt(
        "3-image-policy",
        3,
        "an ImagePolicy of another namespace's ImageRepository",
        (Request(policy, _ADMISSION), _live(policy), has_refs_flag(scene, Controller.IMAGE_REFLECTOR)),
    )
    commit = {"commit": {"author": {"email": "isolation@example.com"}}}
    yield Attempt(
        "3-image-automation",
        3,
        "an ImageUpdateAutomation that pushes to another namespace's source",
        (
            Request(
                made(
                    scene,
                    "ImageUpdateAutomation",
                    {"interval": "1h", "suspend": True, "sourceRef": git, "git": commit},
                ),
                _ADMISSION,
            ),
            has_refs_flag(scene, Controller.IMAGE_AUTOMATION),
        ),
    )
    generator = artifact_generator(scene, sources=[git | {"alias": "source"}])
    yield Attempt(
        "3-artifact-generator",
        3,
        "an ArtifactGenerator of another namespace's source",
        (Request(generator, _ADMISSION), _live(generator), has_refs_flag(scene, Controller.SOURCE_WATCHER)),
    )
    written = artifact_generator(scene, serviceAccountName=scene.tenancy.account, **_written_to(scene.foreign))
    yield Attempt(
        "3-artifact-generator-target",
        3,
        "an ArtifactGenerator that writes into another namespace as the tenant's account",
        (
            Request(written, _ADMISSION),
            Access("create", *RESOURCES["ExternalArtifact"], scene.foreign),
        ),
    )


def identities(scene: Scene) -> Iterator[Attempt]:
    """Other identities, namespaces and clusters (threats 5, 6, 8, 9, 15 and 17)."""
    account, baseline = scene.tenancy.account, kustomization(scene)
    for kind, make, controller in (
        ("Kustomization", kustomization, Controller.KUSTOMIZE),
        ("HelmRelease", helm_release, Controller.HELM),
    ):
        key = kind.lower()
        yield Attempt(
            f"5-{key}-nameless",
            5,
            f"a {kind} without a service account",
            (
                Request(make(scene, serviceAccountName=None), _ADMISSION, baseline=make(scene)),
                has_flag(scene, controller, "default-service-account", None),
                *_powerless_default(scene, controller),
            ),
        )
        yield Attempt.at_admission(
            f"6-{key}-other-account",
            6,
            f"a {kind} with a service account other than the tenant's",
            make(scene, serviceAccountName=f"not-{account}"),
            baseline=make(scene),
        )
        yield Attempt(
            f"9-{key}-target",
            9,
            f"a {kind} that targets another tenant's namespace",
            (
                Request(make(scene, targetNamespace=scene.foreign), _ADMISSION, baseline=make(scene)),
                Access("create", "apps", "deployments", scene.foreign),
            ),
        )
        for name, config in (
            ("secret", {"secretRef": {"name": NAME}}),
            ("config-map", {"configMapRef": {"name": NAME}}),
        ):
            yield Attempt.at_admission(
                f"15-{key}-kubeconfig-{name}",
                15,
                f"a {kind} with a kubeConfig from a {'Secret' if name == 'secret' else 'ConfigMap'}",
                make(scene, kubeConfig=config),
                baseline=make(scene),
            )
        yield Attempt(
            f"15-{key}-kubeconfig-program",
            15,
            f"a kubeConfig that makes {controller} run a program or trust any server",
            (
                lacks_flags(scene, controller, ("insecure-kubeconfig-exec", "insecure-kubeconfig-tls")),
                Request(make(scene, kubeConfig={"secretRef": {"name": NAME}}), _ADMISSION, baseline=make(scene)),
            ),
        )
    watcher = Controller.SOURCE_WATCHER
    yield Attempt(
        "5-artifactgenerator-nameless",
        5,
        "an ArtifactGenerator that writes into another namespace without a service account",
        (
            Request(artifact_generator(scene, **_written_to(scene.foreign)), _ADMISSION),
            _knows_default_account(scene, watcher),
            *_powerless_default(scene, watcher),
        ),
    )
    managing = {"managedNamespaces": {"allowedNames": ["true"], "prune": True}}
    yield Attempt(
        "8-artifact-generator-namespaces",
        8,
        "an ArtifactGenerator that creates, labels and deletes namespaces",
        (
            Request(artifact_generator(scene, serviceAccountName=account, **managing), _ADMISSION),
            # With Capsule, tenants create namespaces of their own.
            Access("delete", "", "namespaces"),
        ),
    )
    yield Attempt(
        "9-helmrelease-storage",
        9,
        "a HelmRelease whose Helm storage is in another tenant's namespace",
        (
            Request(helm_release(scene, storageNamespace=scene.foreign), _ADMISSION, baseline=helm_release(scene)),
            Access("create", "", "secrets", scene.foreign),
        ),
    )
    yield Attempt(
        "17-decryption",
        17,
        "decryption with the controller's own access to a key service",
        (has_flag(scene, Controller.KUSTOMIZE, "default-decryption-service-account", None),),
    )
    yield Attempt(
        "17-decryption-fallback",
        17,
        "decryption with a key of the controller for all tenants",
        (lacks_flags(scene, Controller.KUSTOMIZE, ("sops-age-secret",)),),
    )
    for controller in (Controller.KUSTOMIZE, Controller.HELM):
        yield Attempt(
            f"17-{controller}-kubeconfig",
            17,
            f"access to other clusters with the cloud identity of {controller}",
            (
                has_flag(scene, controller, "default-kubeconfig-service-account", None),
                Request(
                    kustomization(scene, kubeConfig={"configMapRef": {"name": NAME}})
                    if controller is Controller.KUSTOMIZE
                    else helm_release(scene, kubeConfig={"configMapRef": {"name": NAME}}),
                    _ADMISSION,
                    baseline=baseline if controller is Controller.KUSTOMIZE else helm_release(scene),
                ),
            ),
        )
    for controller in (Controller.SOURCE, Controller.NOTIFICATION):
        yield Attempt(
            f"17-{controller}",
            17,
            f"fetches or notifications with the cloud identity of {controller}",
            (has_flag(scene, controller, "default-service-account", None),),
        )


def remote_bases(scene: Scene) -> Iterator[Attempt]:
    """Remote bases (threat 4)."""
    yield Attempt(
        "4-remote-base",
        4,
        "a base from a Git repository that is not a Flux source",
        (has_flag(scene, Controller.KUSTOMIZE, "no-remote-bases"),),
    )


def has_refs_flag(scene: Scene, controller: Controller) -> Finding:
    return has_flag(scene, controller, "no-cross-namespace-refs")


def _live(manifest: Manifest) -> Live:
    """The same object, not suspended, so that Flux reports on it."""
    return Live(changed(manifest, {"suspend": None}), BLOCKED, NOT_FOUND)


def _written_to(namespace: str) -> Manifest:
    """The fields of an ArtifactGenerator that writes its artifact into a namespace."""
    return {"artifacts": [{"name": NAME, "namespace": namespace, "copy": [COPIED]}]}


def _knows_default_account(scene: Scene, controller: Controller) -> Finding:
    """Whether a controller has a default account; not applicable to a release in which it needs none."""
    flag = "default-service-account"
    versions = {version_of(deployment) for deployment in scene.controllers.get(controller, ())}
    if any(flag not in {each.name for each in flags_for(controller, version)} for version in versions):
        message = f"{controller} of Flux {', '.join(sorted(versions))} writes only into the object's own namespace"
        return Finding(Layer.FLUX, State.NOT_APPLICABLE, message)
    return has_flag(scene, controller, flag, None)


def _powerless_default(scene: Scene, controller: Controller) -> Iterator[Access | Finding]:
    """The default account must have no rights."""
    for deployment in scene.controllers.get(controller, ())[:1]:
        if name := arguments(deployment).get("default-service-account"):
            user = f"system:serviceaccount:{scene.tenancy.home}:{name}"
            if user == scene.tenancy.user:
                yield Finding(Layer.FLUX, State.HOLDS, f"the default account {name} is the tenant's account")
            else:
                yield Access("create", "apps", "deployments", scene.tenancy.home, user=user, layer=Layer.FLUX)
