"""Attempts with sources and notifications: where content comes from, and where events go."""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.isolation.attempts.objects import (
    NAME,
    UNKNOWN_HOST,
    chart,
    git_repository,
    helm_release,
    named,
    pod,
    provider,
    receiver,
    source,
)
from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.model import Attempt
from flux_tenancy.isolation.scene import Scene

_ADMISSION = (Layer.ADMISSION,)
_SECRET = {"name": NAME}
_ANY_HOST = "the platform does not restrict the hosts of notifications"
_LOOK_ALIKES = {
    "user-info": ("with user information in the URL", f"https://{UNKNOWN_HOST}@isolation.example.net/apps"),
    "dots": ("with dots in the path", f"https://{UNKNOWN_HOST}/apps/../others"),
    "percent": ("with an encoded slash", f"https://{UNKNOWN_HOST}/apps%2fothers"),
    "capitals": ("with capital letters in the host", f"https://{UNKNOWN_HOST.upper()}/apps"),
    "port": ("at another port", f"https://{UNKNOWN_HOST}:8443/apps"),
    "plain": ("without encryption", f"http://{UNKNOWN_HOST}/apps"),
}


def places(scene: Scene) -> Iterator[Attempt]:
    """Sources that are not allowed (threat 13)."""
    baseline = git_repository(scene)
    yield Attempt.at_admission(
        "13-git",
        13,
        "a Git repository at an unknown host",
        git_repository(scene, url=f"https://{UNKNOWN_HOST}/apps"),
        baseline=baseline,
    )
    for key, (how, url) in _LOOK_ALIKES.items():
        yield Attempt.at_admission(
            f"13-git-{key}", 13, f"a Git repository {how}", git_repository(scene, url=url), baseline=baseline
        )
    for kind in ("OCIRepository", "HelmRepository", "Bucket", "ImageRepository"):
        yield Attempt.at_admission(f"13-{kind.lower()}", 13, f"a {kind} at an unknown host", source(scene, kind))
    named = {"kind": "OCIRepository", "spec": {"url": f"oci://{UNKNOWN_HOST}/apps/app"}}
    yield Attempt.at_admission(
        "13-helmrelease-oci",
        13,
        "a HelmRelease that names an OCI registry at an unknown host itself",
        helm_release(scene, chart=named),
        baseline=helm_release(scene),
    )
    elsewhere = pod(scene)
    elsewhere["spec"]["containers"][0]["image"] = f"{UNKNOWN_HOST}/apps/app:1"
    yield Attempt.at_admission(
        "13-image",
        13,
        "an image from an unknown registry",
        elsewhere,
        baseline=pod(scene),
        by_choice="the platform does not restrict images",
    )


def options(scene: Scene) -> Iterator[Attempt]:
    """Options of sources, and further content that they bring (threats 14 and 35)."""
    baseline = git_repository(scene)
    for kind in ("OCIRepository", "Bucket", "ImageRepository"):
        yield Attempt.at_admission(
            f"14-{kind.lower()}-insecure",
            14,
            f"a {kind} without encryption",
            source(scene, kind, insecure=True),
        )
    yield Attempt.at_admission(
        "14-proxy",
        14,
        "a source through a proxy that the tenant chooses",
        git_repository(scene, proxySecretRef=_SECRET),
        baseline=baseline,
    )
    yield Attempt.at_admission(
        "14-certificate",
        14,
        "a source with a certificate authority that the tenant chooses",
        source(scene, "OCIRepository", certSecretRef=_SECRET),
    )
    for kind, cloud in (("OCIRepository", "aws"), ("Bucket", "azure"), ("ImageRepository", "gcp")):
        yield Attempt.at_admission(
            f"14-{kind.lower()}-cloud",
            14,
            f"a {kind} with a cloud identity",
            source(scene, kind, provider=cloud),
        )
    yield Attempt.at_admission(
        "35-submodules",
        35,
        "a Git repository with submodules from anywhere",
        git_repository(scene, recurseSubmodules=True),
        baseline=baseline,
    )
    yield Attempt.at_admission(
        "61-include",
        61,
        "a Git repository that copies others into itself",
        git_repository(scene, include=[{"repository": {"name": NAME}}]),
        baseline=baseline,
    )
    yield Attempt.at_admission(
        "35-bucket-provider",
        35,
        "a bucket whose provider ignores the allowed endpoint",
        source(scene, "Bucket", provider="gcp"),
    )
    template = chart(chart="./app", sourceRef={"kind": "GitRepository", "name": NAME})
    yield Attempt.at_admission(
        "35-chart-dependencies",
        35,
        "a chart in a Git repository with dependencies from anywhere",
        helm_release(scene, chart=template),
        baseline=helm_release(scene),
        by_choice=_opened(scene, "HelmChart", "charts in Git are allowed; admission does not see their dependencies"),
    )


def notifications(scene: Scene) -> Iterator[Attempt]:
    """Notifications: where they go, and who may send them (threat 36)."""
    yield Attempt.at_admission(
        "36-provider-plain", 36, "notifications without encryption", provider(scene, address=f"http://{UNKNOWN_HOST}/")
    )
    yield Attempt.at_admission(
        "36-provider-address",
        36,
        "notifications to an address that the tenant chooses",
        provider(scene),
        by_choice=_opened(scene, "Provider", _ANY_HOST),
    )
    yield Attempt.at_admission(
        "36-provider-inside",
        36,
        "notifications to a service in the cluster",
        provider(scene, address=f"http://source-controller.{scene.flux}.svc/"),
    )
    of_provider = named(scene, "Secret", "provider-generic")
    yield Attempt.at_admission(
        "36-provider-secret",
        36,
        "notifications to an address in the cluster that is given in a Secret",
        of_provider | {"stringData": {"address": f"http://source-controller.{scene.flux}.svc/"}},
        baseline=of_provider | {"stringData": {"token": "b"}},
    )
    yield Attempt.at_admission(
        "36-provider-proxy",
        36,
        "notifications through a proxy that the tenant chooses",
        provider(scene, proxySecretRef=_SECRET),
    )
    issuer = {"issuerURL": f"https://{UNKNOWN_HOST}/", "audience": NAME}
    validation = {"expression": "true", "message": NAME}
    trusted = [issuer | {"validations": [validation]}]
    yield Attempt.at_admission(
        "36-receiver-issuer",
        36,
        "a Receiver that trusts an issuer that the tenant chooses",
        receiver(scene, type="generic-oidc", secretRef=None, oidcProviders=trusted),
        by_choice=_opened(scene, "Receiver", _ANY_HOST),
    )


def _opened(scene: Scene, kind: str, reason: str) -> str:
    """Why a platform may leave this open; empty if the stack does not open the kind."""
    return reason if scene.opened is None or kind in scene.opened else ""
