"""Tenant: a team's namespaces, limits, identity, sources, access and syncs, as they are planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.plan import Planned, Registered, Stage, of_stage, register_planned
from flux_tenancy.components.tenant.capsule.config import CAPSULE_API
from flux_tenancy.components.vocabulary.names import applied_key

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.leaving.deletion import Offboarding
    from flux_tenancy.components.tenant.scope import TenantScope
    from flux_tenancy.components.vocabulary.manifests import Manifest


TENANT_COMPONENT = "flux-tenancy:index:Tenant"
"""Type token of the component."""


def no_options(_: Manifest) -> pulumi.ResourceOptions:
    """No further options for any object."""
    return pulumi.ResourceOptions()


@dataclass(frozen=True)
class TenantArgs:
    """What Tenant needs.

    Attributes:
        scope: the tenant, and what of its stack its objects depend on.
        planned: what it has (`components.tenant.plan`).
        offboarding: error hooks for objects that are not deleted in time.
        options: further options of an object in the cluster.
        early: rights of Flux's controllers that are registered already, by key.
        beside: options of such rights that are not; None registers them in the component, as everything else.
        after: by kind, resources of others that an object depends on.
        capsule: what Capsule needs to delete the tenant's objects of its own kinds; empty without Capsule.
    """

    scope: TenantScope
    planned: Sequence[Planned]
    offboarding: Offboarding
    options: Callable[[Manifest], pulumi.ResourceOptions] = no_options
    early: Registered = field(default_factory=dict)
    beside: Callable[[Planned], pulumi.ResourceOptions] | None = None
    after: Mapping[str, Sequence[pulumi.Resource]] = field(default_factory=dict)
    capsule: Sequence[pulumi.Resource] = ()


class Tenant(pulumi.ComponentResource):
    """One tenant of the platform.

    Attributes:
        namespaces: names of its namespaces; the first is its home.
        registered: all of its resources, by the key of what was planned.
        applied: everything that Flux applies for it, by its key among all syncs of the stack; empty if it is leaving.
    """

    namespaces: pulumi.Output[list[str]]
    registered: Registered
    applied: Registered

    def __init__(self, name: str, args: TenantArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TENANT_COMPONENT, name, None, opts)
        self.registered = register_planned(args.planned, lambda each: self._options(args, each), args.early)
        self.applied = {
            applied_key(name, each.kind, each.name): self.registered[each.key]
            for each in of_stage(args.planned, Stage.SYNCS)
        }
        self.namespaces = pulumi.Output.from_input(list(args.scope.config.namespace_names))
        self.register_outputs({"namespaces": self.namespaces})

    def _options(self, args: TenantArgs, planned: Planned) -> pulumi.ResourceOptions:
        if planned.beside and args.beside is not None:
            return args.beside(planned)
        after = [*args.after.get(planned.kind, ())]
        if planned.manifest.get("apiVersion") == CAPSULE_API:
            # An update that removes Capsule no longer has what the component depends on, so these objects would
            # outlive Capsule, which removes their finalizers.
            after += args.capsule
        opts = pulumi.ResourceOptions(parent=self, depends_on=after)
        patience = seconds(args.scope.tenancy.offboarding_timeout)
        for more in (args.offboarding.options(planned, patience), args.options(planned.manifest)):
            opts = pulumi.ResourceOptions.merge(opts, more)
        return opts
