"""Attempts to use too much: objects, intervals, and what no quota counts."""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.isolation.attempts.objects import (
    NAME,
    deployment,
    git_repository,
    helm_release,
    kustomization,
    made,
    pod,
)
from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.kinds import RESOURCES
from flux_tenancy.isolation.model import Attempt, Finding, State
from flux_tenancy.isolation.scene import Scene

_ADMISSION = (Layer.ADMISSION,)
_FLUX_KINDS = (
    "Kustomization",
    "HelmRelease",
    "GitRepository",
    "OCIRepository",
    "HelmRepository",
    "HelmChart",
    "Bucket",
    "ArtifactGenerator",
    "Receiver",
    "Alert",
    "Provider",
    "ImageRepository",
    "ImagePolicy",
    "ImageUpdateAutomation",
)
# Kinds that fill etcd, with the names under which a quota may count them.
_KINDS = {
    "ConfigMap": ("configmaps", "count/configmaps"),
    "Secret": ("secrets", "count/secrets"),
    "Pod": ("pods", "count/pods"),
    "Job": ("count/jobs.batch",),
    "CronJob": ("count/cronjobs.batch",),
    "Lease": ("count/leases.coordination.k8s.io",),
    "PersistentVolumeClaim": ("persistentvolumeclaims", "count/persistentvolumeclaims"),
    "Service": ("services", "count/services"),
}


def amounts(scene: Scene) -> Iterator[Attempt]:
    """Reconciliations and objects without a limit (threats 24 and 38)."""
    for kind, make in (
        ("Kustomization", kustomization),
        ("HelmRelease", helm_release),
        ("GitRepository", git_repository),
    ):
        yield Attempt.at_admission(
            f"24-{kind.lower()}-interval",
            24,
            f"a {kind} that is reconciled every second",
            make(scene, interval="1s"),
            baseline=make(scene),
        )
    for kind in _FLUX_KINDS:
        if kind in scene.kinds:
            group, resource = RESOURCES[kind]
            counted = (f"count/{resource}.{group}",)
            yield Attempt(
                f"24-{kind.lower()}-number",
                24,
                f"thousands of {kind} objects",
                (_counted(scene, kind, counted),),
            )
    for kind, names in _KINDS.items():
        yield Attempt(
            f"38-{kind.lower()}-number",
            38,
            f"{kind} objects until the cluster is full",
            (_counted(scene, kind, names),),
        )
    limited = bool(scene.of_home("LimitRange")) or _counts(scene, ("limits.memory",))
    yield Attempt(
        "38-memory",
        38,
        "pods without limits that use up a node's memory",
        (
            Finding(
                Layer.QUOTA,
                State.HOLDS if limited else State.OPEN,
                "a LimitRange or a quota for limits.memory exists"
                if limited
                else "neither a LimitRange nor a quota for limits.memory exists",
            ),
        ),
        by_choice="containers without limits are allowed",
    )


# Far above what a stack would allow, and below the API server's own limits.
_MANY, _LONG = 300, "a" * 900_000


def sizes(scene: Scene) -> Iterator[Attempt]:
    """One object that exhausts a webhook or the store (threats 58 and 59)."""
    containers = [{"name": f"main-{number}", "image": scene.image} for number in range(_MANY)]
    sources = [
        {"name": f"volume-{number}", "projected": {"sources": [{"configMap": {"name": NAME}}]}}
        for number in range(_MANY)
    ]
    for key, what, manifest, baseline in (
        ("containers", "a pod of 300 containers", pod(scene, initContainers=containers), pod(scene)),
        ("volumes", "a pod with 300 volumes", pod(scene, volumes=sources), pod(scene)),
        ("template", "a Deployment with 300 volumes", deployment(scene, volumes=sources), deployment(scene)),
    ):
        yield Attempt.at_admission(f"58-{key}", 58, what, manifest, baseline=baseline)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": NAME}
    owned = {"ownerReferences": [owner | {"uid": f"isolation-{number}"} for number in range(_MANY)]}
    yield Attempt.at_admission(
        "58-owners",
        58,
        "an object with 300 owners",
        made(scene, "ConfigMap", metadata=owned),
        baseline=made(scene, "ConfigMap"),
    )
    for kind, data in (("ConfigMap", {"data": {"long": _LONG}}), ("Secret", {"stringData": {"long": _LONG}})):
        yield Attempt.at_admission(
            f"59-{kind.lower()}", 59, f"a {kind} of 900 kB", made(scene, kind) | data, baseline=made(scene, kind)
        )


def _counted(scene: Scene, kind: str, names: tuple[str, ...]) -> Finding:
    """Whether a quota counts the kind in every namespace of the tenant."""
    if _counts(scene, names):
        return Finding(Layer.QUOTA, State.HOLDS, f"a ResourceQuota counts {names[-1]}", "ResourceQuota")
    return Finding(Layer.QUOTA, State.OPEN, f"no ResourceQuota counts {names[-1]}")


def _counts(scene: Scene, names: tuple[str, ...]) -> bool:
    return all(
        any(
            quota["metadata"]["namespace"] == namespace
            and not quota["spec"].get("scopes")
            and not quota["spec"].get("scopeSelector")
            and any(name in quota["spec"].get("hard", {}) for name in names)
            for quota in scene.objects.get("ResourceQuota", ())
        )
        for namespace in scene.tenancy.namespaces
    )
