"""Names that a stack needs in a tenant's namespace but that objects of others already have.

An apply would take over such an object, including all fields that the stack does not set, so the platform team decides.
Until then, the platform's object is not created, and neither is what depends on it. A tenant can cause such a conflict,
so everything else is applied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.cluster.waiting import NotReady
from flux_tenancy.components.config.invariants import present
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.plan.planned import key_of
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import Plan
from flux_tenancy.components.vocabulary.manifests import Find, Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

NAME_TAKEN = Wording(
    "FT-CLU-114",
    "{kind} {name} exists in the cluster and does not belong to the platform, which needs this name for tenant "
    "{tenant}; the platform's {kind} and what depends on it are left out",
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


@dataclass(frozen=True)
class NameConflict:
    """An object of others that has the name of an object of the platform.

    Attributes:
        tenant: the tenant in whose namespace it is.
        key: the key of the platform's object (`components.plan.planned.key_of`).
        message: what is left out, and what to do.
    """

    tenant: str
    key: str
    message: Message


def name_conflicts(
    config: StackConfig, plan: Plan, cluster: ClusterFacts, state: State, find: Find
) -> list[NameConflict]:
    """Each object of others whose name this update needs; none with `cluster.adopt`.

    Args:
        config: the stack.
        plan: what it wants.
        cluster: facts of the cluster; a namespace that does not exist yet is empty.
        state: the stack's state.
        find: returns the cluster's object of the same kind, namespace and name, or None.
    """
    if config.cluster.adopt:
        return []
    return [
        NameConflict(tenant, each.key, _message(tenant, each.manifest, found))
        for tenant, each in plan.named_in_tenants
        if cluster.namespaces.get(each.namespace, {}).get(TENANT_LABEL) == tenant
        and (resource_type(each.manifest), name_of(each.manifest)) not in state.resources
        and (found := find(each.manifest)) is not None
        and found["metadata"].get("labels", {}).get(TENANT_LABEL) != tenant
    ]


class ConflictHooks:
    """Fails the creation of each object whose name is taken, and with it only what depends on the object.

    Args:
        conflicts: the names that are taken.
    """

    def __init__(self, conflicts: Sequence[NameConflict]) -> None:
        self.keys = {each.key for each in conflicts}
        self.tenants = {each.tenant for each in conflicts}
        self._messages = {each.key: each.message for each in conflicts}
        self._taken = pulumi.ResourceHook("name-taken", self._refuse)

    def of(self, manifest: Manifest) -> pulumi.ResourceHookBinding:
        """The hooks of an object; none if its name is free."""
        return pulumi.ResourceHookBinding(before_create=[self._taken] if key_of(manifest) in self.keys else [])

    async def _refuse(self, args: pulumi.ResourceHookArgs) -> None:
        created = present(args.new_inputs, "something is created")
        raise NotReady(self._messages[key_of(dict(created))])


def _message(tenant: str, manifest: Manifest, found: Mapping[str, Any]) -> Message:
    metadata = manifest["metadata"]
    target = f"{manifest['kind'].lower()} {metadata['name']} -n {metadata['namespace']}"
    if manifest["kind"] in _PRUNING:
        wording = PRUNING_NAME_TAKEN
    else:
        wording = IMMUTABLE_NAME_TAKEN if found.get("immutable") else NAME_TAKEN
    fields = {"kind": manifest["kind"], "name": name_of(manifest), "target": target, "label": TENANT_LABEL}
    return wording(**fields, tenant=tenant)
