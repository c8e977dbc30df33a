"""Names that a stack needs in a tenant's namespace and that somebody else has taken there.

An apply would take such an object over, with all that the stack says nothing of, or fail halfway through an update
where it is immutable. So it is told before anything is applied, and the platform decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from components.cluster.client import ClusterFacts
from components.cluster.manifests import Manifest, name_of, resource_type
from components.config.errors import Problem
from components.engine.state import State
from components.git.source_objects import source_objects, webhook_secret
from components.stack.config import StackConfig
from components.sync.names import TENANT_LABEL
from components.tenant.objects import source_meta, tenant_objects


def taken_names(
    config: StackConfig,
    cluster: ClusterFacts,
    state: State,
    find: Callable[[Manifest], Mapping[str, Any] | None],
    stack_file: str,
) -> list[Problem]:
    """Objects of others that are called as what this update would create; a stack that adopts takes them over.

    Args:
        config: the stack.
        cluster: who the cluster is; a namespace that it does not have yet is empty.
        state: what earlier updates of this stack have left.
        find: returns what the cluster has by the kind and name of an object, or None.
        stack_file: name of the stack's file.
    """
    if config.cluster.adopt:
        return []
    return [
        _problem(tenant, manifest, found, stack_file)
        for tenant, manifest in planned_objects(config)
        if cluster.namespaces.get(manifest["metadata"]["namespace"], {}).get(TENANT_LABEL) == tenant
        and (resource_type(manifest), name_of(manifest)) not in state.resources
        and (found := find(manifest)) is not None
        and found["metadata"].get("labels", {}).get(TENANT_LABEL) != tenant
    ]


def planned_objects(config: StackConfig) -> Iterator[tuple[str, Manifest]]:
    """What the tenants' namespaces are to hold, each with its tenant."""
    for name, tenant in config.tenants.items():
        objects = tenant_objects(name, tenant, config.tenancy)
        meta = source_meta(name, tenant)
        source = source_objects(meta, tenant.source, config.git.known_hosts)
        inside = [*objects.limits, objects.identity, *objects.access, *objects.decryption, objects.sync]
        inside += [*source.secrets, source.source]
        if source.receiver is not None:
            inside += [webhook_secret(meta, ""), source.receiver]
        # A name that is generated is nobody's yet.
        yield from ((name, manifest) for manifest in inside if "name" in manifest["metadata"])


def _problem(tenant: str, manifest: Manifest, found: Mapping[str, Any], stack_file: str) -> Problem:
    metadata = manifest["metadata"]
    target = f"{manifest['kind'].lower()} {metadata['name']} -n {metadata['namespace']}"
    remedy = f"delete it with `kubectl delete {target}`"
    if not found.get("immutable"):
        remedy += f", or hand it over with `kubectl label {target} {TENANT_LABEL}={tenant}`"
    return Problem(
        stack_file,
        f"tenants.{tenant}",
        f"{manifest['kind']} {name_of(manifest)} is in the cluster and not the platform's, which needs the name; "
        f"{remedy}",
    )
