"""Objects that are in the stack's state but missing from the cluster: a killed `pulumi destroy`, or somebody by hand.

The engine records a deletion after the object is gone. If it is killed before that, the next update assumes that the
object still exists and builds on it. `pulumi up --refresh` reads the cluster first. Usually only namespaces and syncs
are checked, which the preflight reads anyway: syncs are deleted first and created last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from flux_tenancy.components.cluster.client import ClusterFacts, collection_of
from flux_tenancy.components.cluster.component import names_cluster
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.stack.cluster.namespaces import NAMESPACE_TYPE, OF_PLATFORM
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import Plan
from flux_tenancy.components.sync.status import name_of_object
from flux_tenancy.components.vocabulary.manifests import Manifest, is_terminating, name_of, resource_type
from flux_tenancy.components.vocabulary.names import HELM_API, HELM_RELEASE, KUSTOMIZATION, KUSTOMIZE_API

_SHOWN = 3
_APPLIED_TYPES = {
    kind: resource_type({"apiVersion": api, "kind": kind})
    for api, kind in ((KUSTOMIZE_API, KUSTOMIZATION), (HELM_API, HELM_RELEASE))
}


def missing_objects(
    config: StackConfig,
    plan: Plan,
    cluster: ClusterFacts,
    state: State,
    syncs: Iterable[Manifest],
    names_at: Callable[[str], Collection[str] | None],
    stack_file: str,
    *,
    refreshed: bool = False,
) -> list[Problem]:
    """A problem if objects are in the state but missing from the cluster.

    Args:
        names_at: returns the objects at a path of the API, as `namespace/name`, or `name` for cluster-scoped ones; None
            if a preview may not read them.
        refreshed: whether the engine knows what is missing, since it has refreshed the state.
    """
    if refreshed or not names_cluster(state, cluster.uid):
        return []
    own = [name for name in (*OF_PLATFORM, *_listed(config)) if name in state.names(NAMESPACE_TYPE)]
    if cluster.terminating.intersection(own):  # `held_namespaces` refuses it.
        return []
    wanted = {sync.applied for sync in plan.syncs.values()}
    there = {name_of_object(each) for each in syncs if not is_terminating(each)}
    known = {(kind, *name.split("/")) for kind, type_ in _APPLIED_TYPES.items() for name in state.names(type_)}
    if wanted <= known and wanted <= there and cluster.namespaces.keys() >= set(own):
        return []
    missing = sorted(_missing(config, cluster, state, names_at))
    if not missing:
        return []
    shown = ", ".join(missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
    return [
        Problem(
            stack_file,
            "cluster",
            Message(
                "FT-CLU-113",
                f"{len(missing)} of the objects in this stack's state are missing in the cluster ({shown}): an "
                "interrupted `pulumi destroy` or somebody else has deleted them",
                "run `pulumi up --refresh`, which creates them again",
            ),
        )
    ]


def _missing(
    config: StackConfig, cluster: ClusterFacts, state: State, names_at: Callable[[str], Collection[str] | None]
) -> Iterable[str]:
    """Kind and name of each missing object, except those of tenants that leave or are no longer listed."""
    kept = {name for name in cluster.namespaces if name not in state.names(NAMESPACE_TYPE)}
    kept |= {*_listed(config), *OF_PLATFORM}
    found: dict[str, Collection[str] | None] = {}
    for (kind, _), outputs in state.resources.items():
        if (path := collection_of(kind)) is None or "metadata" not in outputs:
            continue
        metadata: Mapping[str, Any] = outputs["metadata"]
        namespace = metadata["name"] if kind == NAMESPACE_TYPE else metadata.get("namespace", "")
        if namespace and namespace not in kept:
            continue
        if path not in found:
            found[path] = names_at(path)
        name = name_of({"metadata": metadata})
        if (names := found[path]) is not None and name not in names:
            yield f"{kind.rpartition(':')[2]} {printable(name)}"


def _listed(config: StackConfig) -> list[str]:
    return [name for tenant in config.active_tenants.values() for name in tenant.namespace_names]
