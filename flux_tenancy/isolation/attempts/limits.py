"""Attempts to use too much: objects, intervals, and what no quota counts."""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.isolation.attempts.objects import git_repository, helm_release, kustomization
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
