"""Attempts at how much there is: objects, intervals, and what a quota does not count."""

from __future__ import annotations

from collections.abc import Iterator

from isolation.attempts.objects import git_repository, helm_release, kustomization
from isolation.kinds import RESOURCES
from isolation.model import Attempt, Finding, Layer, State
from isolation.scene import Scene

_ADMISSION = (Layer.ADMISSION,)
_FLUX_KINDS = ("Kustomization", "HelmRelease", "GitRepository", "OCIRepository", "HelmRepository", "Receiver")
# What fills the cluster's memory, by how a quota may count it.
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
    """Threats 24 and 38."""
    for kind, make in (
        ("Kustomization", kustomization),
        ("HelmRelease", helm_release),
        ("GitRepository", git_repository),
    ):
        yield Attempt.at_admission(
            f"24-{kind.lower()}-interval", 24, f"a {kind} every second", make(scene, interval="1s"), beside=make(scene)
        )
    for kind in _FLUX_KINDS:
        if kind in scene.kinds:
            group, resource = RESOURCES[kind]
            counted = (f"count/{resource}.{group}",)
            yield Attempt(
                f"24-{kind.lower()}-number",
                24,
                f"thousands of objects of the kind {kind}",
                (_counted(scene, kind, counted),),
            )
    for kind, names in _KINDS.items():
        yield Attempt(
            f"38-{kind.lower()}-number",
            38,
            f"objects of the kind {kind} until the cluster is full",
            (_counted(scene, kind, names),),
        )
    limited = bool(scene.of_home("LimitRange")) or _counts(scene, ("limits.memory",))
    yield Attempt(
        "38-memory",
        38,
        "pods that state no limits and take a node's memory",
        (
            Finding(
                Layer.QUOTA,
                State.HOLDS if limited else State.OPEN,
                "a LimitRange, or a quota of limits.memory, is there"
                if limited
                else "neither a LimitRange nor a quota of limits.memory is there",
            ),
        ),
        by_choice="nothing is said of what a container takes that does not say so itself",
    )


def _counted(scene: Scene, kind: str, names: tuple[str, ...]) -> Finding:
    """Whether a quota of every namespace of the tenant's counts a kind."""
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
