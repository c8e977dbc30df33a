"""Attempts of Flux's objects: at others' sources, identities, namespaces and clusters."""

from __future__ import annotations

from collections.abc import Iterator

from components.cluster.manifests import Manifest
from components.flux.controllers import Controller
from isolation.attempts.looking import arguments, has_flag, lacks_flags
from isolation.attempts.objects import (
    NAME,
    changed,
    chart,
    helm_release,
    kustomization,
    made,
    receiver,
)
from isolation.model import Access, Attempt, Finding, Layer, Live, Request, State
from isolation.scene import Scene

_ADMISSION = (Layer.ADMISSION,)
# In the words of Flux's controllers; what is referred to does not exist, so that nothing comes of it.
BLOCKED = r"cross-namespace references (?:have been blocked|are not allowed)|[Aa]ccess denied"
NOT_FOUND = r"not found|NotFound"


def references(scene: Scene) -> Iterator[Attempt]:
    """Threats 1 to 3: references to another namespace.

    What Flux says comes before its flags: of two that hold, the first is told.
    """
    foreign = {"name": NAME, "namespace": scene.flux}
    git = {"kind": "GitRepository"} | foreign
    kustomize, helm = has_refs_flag(scene, Controller.KUSTOMIZE), has_refs_flag(scene, Controller.HELM)
    sync = kustomization(scene, sourceRef=git)
    yield Attempt(
        "1-kustomization-source",
        1,
        "a Kustomization of a source in another namespace",
        (Request(sync, _ADMISSION, beside=kustomization(scene)), _live(sync), kustomize),
    )
    yield Attempt(
        "1-helmrelease-source",
        1,
        "a HelmRelease whose chart's source is in another namespace",
        (
            Request(
                helm_release(scene, chart=chart(sourceRef={"kind": "HelmRepository"} | foreign)),
                _ADMISSION,
                beside=helm_release(scene),
            ),
            helm,
        ),
    )
    release = helm_release(scene, chart=None, chartRef={"kind": "OCIRepository"} | foreign)
    yield Attempt(
        "1-helmrelease-chart",
        1,
        "a HelmRelease of a chart in another namespace",
        (Request(release, _ADMISSION, beside=helm_release(scene)), _live(release), helm),
    )
    yield Attempt(
        "1-dependency",
        1,
        "a Kustomization that depends on one in another namespace",
        (
            Request(kustomization(scene, dependsOn=[foreign]), _ADMISSION, beside=kustomization(scene)),
            kustomize,
        ),
    )
    notification = has_refs_flag(scene, Controller.NOTIFICATION)
    events = [{"kind": "Kustomization"} | foreign]
    yield Attempt(
        "2-alert",
        2,
        "an Alert on events of another namespace",
        (
            Request(made(scene, "Alert", {"providerRef": {"name": NAME}, "eventSources": events}), _ADMISSION),
            notification,
        ),
    )
    yield Attempt(
        "2-receiver",
        2,
        "a Receiver that sets off objects of another namespace",
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
    artifacts = [{"name": NAME, "copy": [{"from": "@source/*", "to": "@artifact/"}]}]
    generator = made(scene, "ArtifactGenerator", {"sources": [git | {"alias": "source"}], "artifacts": artifacts})
    yield Attempt(
        "3-artifact-generator",
        3,
        "an ArtifactGenerator of another namespace's source",
        (Request(generator, _ADMISSION), _live(generator), has_refs_flag(scene, Controller.SOURCE_WATCHER)),
    )


def identities(scene: Scene) -> Iterator[Attempt]:
    """Threats 5, 6, 9, 15 and 17: as whom, where to, and to which cluster."""
    account, beside = scene.tenancy.account, kustomization(scene)
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
                Request(make(scene, serviceAccountName=None), _ADMISSION, beside=make(scene)),
                has_flag(scene, controller, "default-service-account", None),
                *_powerless_default(scene, controller),
            ),
        )
        yield Attempt.at_admission(
            f"6-{key}-other-account",
            6,
            f"a {kind} as another service account than the tenant's",
            make(scene, serviceAccountName=f"not-{account}"),
            beside=make(scene),
        )
        yield Attempt(
            f"9-{key}-target",
            9,
            f"a {kind} that goes to another's namespace",
            (
                Request(make(scene, targetNamespace=scene.foreign), _ADMISSION, beside=make(scene)),
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
                beside=make(scene),
            )
        yield Attempt(
            f"15-{key}-kubeconfig-program",
            15,
            f"a kubeConfig that makes {controller} run a program, or trust any server",
            (
                lacks_flags(scene, controller, ("insecure-kubeconfig-exec", "insecure-kubeconfig-tls")),
                Request(make(scene, kubeConfig={"secretRef": {"name": NAME}}), _ADMISSION, beside=make(scene)),
            ),
        )
    yield Attempt(
        "9-helmrelease-storage",
        9,
        "a HelmRelease that Helm remembers in another's namespace",
        (
            Request(helm_release(scene, storageNamespace=scene.foreign), _ADMISSION, beside=helm_release(scene)),
            Access("create", "", "secrets", scene.foreign),
        ),
    )
    yield Attempt(
        "17-decryption",
        17,
        "decrypting with the controller's own access to a key service",
        (has_flag(scene, Controller.KUSTOMIZE, "default-decryption-service-account", None),),
    )
    yield Attempt(
        "17-decryption-fallback",
        17,
        "decrypting with a key that the controller has for everybody",
        (lacks_flags(scene, Controller.KUSTOMIZE, ("sops-age-secret",)),),
    )
    for controller in (Controller.KUSTOMIZE, Controller.HELM):
        yield Attempt(
            f"17-{controller}-kubeconfig",
            17,
            f"reaching other clusters with the cloud identity of {controller}",
            (
                has_flag(scene, controller, "default-kubeconfig-service-account", None),
                Request(
                    kustomization(scene, kubeConfig={"configMapRef": {"name": NAME}})
                    if controller is Controller.KUSTOMIZE
                    else helm_release(scene, kubeConfig={"configMapRef": {"name": NAME}}),
                    _ADMISSION,
                    beside=beside if controller is Controller.KUSTOMIZE else helm_release(scene),
                ),
            ),
        )
    for controller in (Controller.SOURCE, Controller.NOTIFICATION):
        yield Attempt(
            f"17-{controller}",
            17,
            f"fetching or notifying with the cloud identity of {controller}",
            (has_flag(scene, controller, "default-service-account", None),),
        )


def remote_bases(scene: Scene) -> Iterator[Attempt]:
    """Threat 4."""
    yield Attempt(
        "4-remote-base",
        4,
        "a base from a Git repository that is no source of Flux's",
        (has_flag(scene, Controller.KUSTOMIZE, "no-remote-bases"),),
    )


def has_refs_flag(scene: Scene, controller: Controller) -> Finding:
    return has_flag(scene, controller, "no-cross-namespace-refs")


def _live(manifest: Manifest) -> Live:
    """The same, not suspended, to hear what Flux says."""
    return Live(changed(manifest, {"suspend": None}), BLOCKED, NOT_FOUND)


def _powerless_default(scene: Scene, controller: Controller) -> Iterator[Access | Finding]:
    """What stands in for the missing account must be able to do nothing."""
    for deployment in scene.controllers.get(controller, ())[:1]:
        if name := arguments(deployment).get("default-service-account"):
            user = f"system:serviceaccount:{scene.tenancy.home}:{name}"
            if user == scene.tenancy.user:
                yield Finding(Layer.FLUX, State.HOLDS, f"it is applied as {name}, which is the tenant's account")
            else:
                yield Access("create", "apps", "deployments", scene.tenancy.home, user=user, layer=Layer.FLUX)
