"""Names that a stack needs in a tenant's namespace but that objects of others already have.

An apply would take over such an object, including all fields that the stack does not set, or fail halfway through an
update if it is immutable. So it is reported before anything is applied, and the platform team decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import Plan
from flux_tenancy.components.vocabulary.manifests import Find, Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

NAME_TAKEN = Wording(
    "FT-CLU-114",
    "{kind} {name} exists in the cluster and does not belong to the platform, which needs this name",
    "transfer it with `kubectl label {target} {label}={tenant}`, or, when nothing uses it, delete it with `kubectl "
    "delete {target}`",
)
IMMUTABLE_NAME_TAKEN = Wording(
    "FT-CLU-115", NAME_TAKEN.text, "when nothing uses it, delete it with `kubectl delete {target}`"
)
PRUNING_NAME_TAKEN = Wording(
    "FT-CLU-117",
    NAME_TAKEN.text,
    "suspend it with `flux suspend {target}`, so that its deletion keeps the applied objects; then remove it from "
    "its repository, if any, which would restore it, and delete it with `kubectl delete {target}`",
)

# Their deletion deletes what they have applied, and a change of their path prunes it.
_PRUNING = frozenset({"Kustomization", "HelmRelease"})


def taken_names(
    config: StackConfig,
    plan: Plan,
    cluster: ClusterFacts,
    state: State,
    find: Find,
    stack_file: str,
) -> list[Problem]:
    """A problem for each object of others whose name this update needs; none with `cluster.adopt`.

    Args:
        config: the stack.
        plan: what it wants.
        cluster: facts of the cluster; a namespace that does not exist yet is empty.
        state: the stack's state.
        find: returns the cluster's object of the same kind, namespace and name, or None.
        stack_file: name of the stack's file.
    """
    if config.cluster.adopt:
        return []
    return [
        _problem(tenant, each.manifest, found, stack_file)
        for tenant, each in plan.named_in_tenants
        if cluster.namespaces.get(each.namespace, {}).get(TENANT_LABEL) == tenant
        and (resource_type(each.manifest), name_of(each.manifest)) not in state.resources
        and (found := find(each.manifest)) is not None
        and found["metadata"].get("labels", {}).get(TENANT_LABEL) != tenant
    ]


def _problem(tenant: str, manifest: Manifest, found: Mapping[str, Any], stack_file: str) -> Problem:
    metadata = manifest["metadata"]
    target = f"{manifest['kind'].lower()} {metadata['name']} -n {metadata['namespace']}"
    if manifest["kind"] in _PRUNING:
        wording = PRUNING_NAME_TAKEN
    else:
        wording = IMMUTABLE_NAME_TAKEN if found.get("immutable") else NAME_TAKEN
    fields = {"kind": manifest["kind"], "name": name_of(manifest), "target": target, "label": TENANT_LABEL}
    return Problem(stack_file, f"tenants.{tenant}", wording(**fields, tenant=tenant))
