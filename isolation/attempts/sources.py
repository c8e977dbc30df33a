"""Attempts at where content comes from, and at where news of it goes."""

from __future__ import annotations

from collections.abc import Iterator

from isolation.attempts.objects import (
    NAME,
    UNKNOWN_HOST,
    chart,
    git_repository,
    helm_release,
    made,
    pod,
    provider,
    receiver,
    source,
)
from isolation.model import Attempt, Layer
from isolation.scene import Scene

_ADMISSION = (Layer.ADMISSION,)
_SECRET = {"name": NAME}
_ANY_HOST = "no list of hosts is kept for notifications"
_LOOK_ALIKES = {
    "user-info": ("with user information before the host", f"https://{UNKNOWN_HOST}@isolation.example.net/apps"),
    "dots": ("with dots in the path", f"https://{UNKNOWN_HOST}/apps/../others"),
    "percent": ("with an encoded slash", f"https://{UNKNOWN_HOST}/apps%2fothers"),
    "capitals": ("with capital letters in the host", f"https://{UNKNOWN_HOST.upper()}/apps"),
    "port": ("at another port", f"https://{UNKNOWN_HOST}:8443/apps"),
    "plain": ("without encryption", f"http://{UNKNOWN_HOST}/apps"),
}


def places(scene: Scene) -> Iterator[Attempt]:
    """Threat 13: where content comes from."""
    beside = git_repository(scene)
    yield Attempt.at_admission(
        "13-git",
        13,
        "a Git repository at a host that is nobody's",
        git_repository(scene, url=f"https://{UNKNOWN_HOST}/apps"),
        beside=beside,
    )
    for key, (how, url) in _LOOK_ALIKES.items():
        yield Attempt.at_admission(
            f"13-git-{key}", 13, f"a Git repository {how}", git_repository(scene, url=url), beside=beside
        )
    for kind in ("OCIRepository", "HelmRepository", "Bucket", "ImageRepository"):
        yield Attempt.at_admission(
            f"13-{kind.lower()}", 13, f"a source of the kind {kind} at a host that is nobody's", source(scene, kind)
        )
    elsewhere = pod(scene)
    elsewhere["spec"]["containers"][0]["image"] = f"{UNKNOWN_HOST}/apps/app:1"
    yield Attempt.at_admission(
        "13-image",
        13,
        "an image from a registry that is nobody's",
        elsewhere,
        beside=pod(scene),
        by_choice="no list of images is kept",
    )


def options(scene: Scene) -> Iterator[Attempt]:
    """Threats 14 and 35: how content comes, and what comes beside it."""
    beside = git_repository(scene)
    for kind in ("OCIRepository", "Bucket", "ImageRepository"):
        yield Attempt.at_admission(
            f"14-{kind.lower()}-insecure",
            14,
            f"a source of the kind {kind} without encryption",
            source(scene, kind, insecure=True),
        )
    yield Attempt.at_admission(
        "14-proxy",
        14,
        "a source through a proxy of the tenant's choice",
        git_repository(scene, proxySecretRef=_SECRET),
        beside=beside,
    )
    yield Attempt.at_admission(
        "14-certificate",
        14,
        "a source with a certificate authority of the tenant's choice",
        source(scene, "OCIRepository", certSecretRef=_SECRET),
    )
    for kind, cloud in (("OCIRepository", "aws"), ("Bucket", "azure"), ("ImageRepository", "gcp")):
        yield Attempt.at_admission(
            f"14-{kind.lower()}-cloud",
            14,
            f"a source of the kind {kind} with a cloud's identity",
            source(scene, kind, provider=cloud),
        )
    yield Attempt.at_admission(
        "35-submodules",
        35,
        "a Git repository whose submodules name any other one",
        git_repository(scene, recurseSubmodules=True),
        beside=beside,
    )
    yield Attempt.at_admission(
        "35-bucket-provider",
        35,
        "a bucket whose provider passes over the endpoint that is allowed",
        source(scene, "Bucket", provider="gcp"),
    )
    template = chart(chart="./app", sourceRef={"kind": "GitRepository", "name": NAME})
    yield Attempt.at_admission(
        "35-chart-dependencies",
        35,
        "a chart in a Git repository, whose dependencies name any other place",
        helm_release(scene, chart=template),
        beside=helm_release(scene),
        by_choice="charts in Git are allowed; what their dependencies name is not seen at admission",
    )


def notifications(scene: Scene) -> Iterator[Attempt]:
    """Threat 36: where news goes, and who may bring some."""
    yield Attempt.at_admission(
        "36-provider-plain", 36, "notifications without encryption", provider(scene, address=f"http://{UNKNOWN_HOST}/")
    )
    yield Attempt.at_admission(
        "36-provider-address",
        36,
        "notifications to an address of the tenant's choice",
        provider(scene),
        by_choice=_ANY_HOST,
    )
    yield Attempt.at_admission(
        "36-provider-inside",
        36,
        "notifications to a service inside of the cluster",
        provider(scene, address=f"http://source-controller.{scene.flux}.svc/"),
    )
    yield Attempt.at_admission(
        "36-provider-secret",
        36,
        "notifications to an address inside of the cluster that only a Secret names",
        made(scene, "Secret", stringData={"address": f"http://source-controller.{scene.flux}.svc/"}),
        beside=made(scene, "Secret", stringData={"a": "b"}),
    )
    yield Attempt.at_admission(
        "36-provider-proxy",
        36,
        "notifications through a proxy of the tenant's choice",
        provider(scene, proxySecretRef=_SECRET),
    )
    issuer = {"issuerURL": f"https://{UNKNOWN_HOST}/", "audience": NAME}
    validation = {"expression": "true", "message": NAME}
    trusted = [issuer | {"validations": [validation]}]
    yield Attempt.at_admission(
        "36-receiver-issuer",
        36,
        "a Receiver that asks an issuer of the tenant's choice",
        receiver(scene, type="generic-oidc", secretRef=None, oidcProviders=trusted),
        by_choice=_ANY_HOST,
    )
