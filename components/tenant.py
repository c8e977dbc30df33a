"""Tenant: a team's namespaces, limits, identity, access, source and sync, in that order and removed in reverse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.configuration import TenancyConfig, TenantConfig
from components.configuration.types import seconds
from components.git_source import GitAccess, RegisteredSource, register_source
from components.manifests import Manifest, register
from components.tenant_limits import limiting_objects
from components.tenant_objects import source_place, tenant_objects

# Flux deletes what it applied and gets the sync's own timeout for it; Pulumi only waits, and this much longer.
PRUNE_MARGIN_SECONDS = 300


@dataclass(frozen=True)
class TenantArgs:
    """What Tenant needs.

    Attributes:
        config: the tenant as this environment has it.
        tenancy: what holds for all tenants of the stack.
        access: what all Git sources of the stack share.
    """

    config: TenantConfig
    tenancy: TenancyConfig
    access: GitAccess


class Tenant(pulumi.ComponentResource):
    """One tenant of the platform.

    Attributes:
        namespaces: names of its namespaces; the first is its home.
        source: its Git repository.
        sync: the Flux Kustomization that applies it.
    """

    namespaces: pulumi.Output[list[str]]
    source: RegisteredSource
    sync: pulumi.CustomResource

    def __init__(self, name: str, args: TenantArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("flux-tenancy:index:Tenant", name, None, opts)
        objects = tenant_objects(name, args.config)
        namespaces = [self._register(namespace, after=[]) for namespace in objects.namespaces]
        identity = self._register(objects.identity, after=namespaces)
        limits = [
            self._register(limit, after=namespaces)
            for namespace in args.config.namespace_names
            for limit in limiting_objects(name, namespace, args.tenancy.limits, args.tenancy.network_policy)
        ]
        # What is counted can be made only once the cluster counts, so all else comes after.
        access = [self._register(binding, after=[*namespaces, identity, *limits]) for binding in objects.access]
        place = source_place(name, args.config)
        self.source = register_source(place, args.config.source, args.access, parent=self, after=[*namespaces, *limits])
        decrypting = [self._register(each, after=namespaces) for each in objects.decryption]
        # Last to come and first to go: while it prunes, its identity must still be allowed to delete.
        pruned = pulumi.CustomTimeouts(delete=f"{seconds(args.config.sync.timeout) + PRUNE_MARGIN_SECONDS:.0f}s")
        self.sync = self._register(objects.sync, after=[*access, *decrypting, self.source.source], timeouts=pruned)
        self.namespaces = pulumi.Output.from_input(list(args.config.namespace_names))
        self.register_outputs({"namespaces": self.namespaces})

    def _register(
        self,
        manifest: Manifest,
        after: Sequence[pulumi.Resource],
        timeouts: pulumi.CustomTimeouts | None = None,
    ) -> pulumi.CustomResource:
        return register(manifest, pulumi.ResourceOptions(parent=self, depends_on=list(after), custom_timeouts=timeouts))
