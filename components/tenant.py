"""Tenant: a team's namespaces, limits, identity, access, source and sync, created in this order, removed in reverse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pulumi

from components.awaited import awaited
from components.configuration import TenancyConfig, TenantConfig
from components.configuration.types import seconds
from components.git_source import GitAccess, RegisteredSource, register_source
from components.impersonation import Impersonation
from components.manifests import Manifest, register
from components.quota_status import QuotaStatus
from components.tenant_limits import counted_for, flux_quota_name
from components.tenant_objects import source_place, tenant_objects

# Flux deletes what it applied and gets the sync's own timeout for it; Pulumi only waits, and this much longer.
PRUNE_MARGIN_SECONDS = 300


@dataclass(frozen=True)
class TenantArgs:
    """What Tenant needs.

    Attributes:
        config: the tenant as this environment has it.
        access: what all Git sources of the stack share.
        tenancy: what holds for all tenants.
        quotas: what the cluster knows of its quotas.
        impersonation: what lets Flux act as the tenant; None where it may do everything by itself.
        default_account: the service account that Flux takes where an object names none.
    """

    config: TenantConfig
    access: GitAccess
    tenancy: TenancyConfig
    quotas: QuotaStatus
    impersonation: Impersonation | None = None
    default_account: str = "default"


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
        objects = tenant_objects(name, args.config, args.tenancy, args.default_account)
        namespaces = [self._register(namespace, after=[]) for namespace in objects.namespaces]
        # Neither may a quota be older than what it counts, nor what it counts be made before it is counted.
        countable = awaited(namespaces[0], args.quotas.wait_until_countable)
        limits = [self._register(limit, after=[*namespaces, countable]) for limit in objects.limits]
        quota = (args.config.home, flux_quota_name(name), counted_for(args.config))
        counting = awaited(limits[0], partial(args.quotas.wait_until_counting, *quota))
        identity = self._register(objects.identity, after=namespaces)
        # Nobody may do anything before its limits stand.
        limited: list[pulumi.Input[pulumi.Resource]] = [*namespaces, *limits, counting]
        access = [self._register(binding, after=[*limited, identity]) for binding in objects.access]
        place = source_place(name, args.config)
        self.source = register_source(place, args.config.source, args.access, parent=self, after=limited)
        decrypting = [self._register(each, after=namespaces) for each in objects.decryption]
        impersonating = [
            each
            for namespace in args.config.namespace_names
            if args.impersonation is not None
            for each in args.impersonation.within(namespace, after=[*namespaces, identity])
        ]
        # Last to come and first to go: while it prunes, its identity must still be allowed to delete, and Flux to act
        # as it.
        pruned = pulumi.CustomTimeouts(delete=f"{seconds(args.config.sync.timeout) + PRUNE_MARGIN_SECONDS:.0f}s")
        needed = [*access, *impersonating, *decrypting, self.source.source]
        self.sync = self._register(objects.sync, after=needed, timeouts=pruned)
        self.namespaces = pulumi.Output.from_input(list(args.config.namespace_names))
        self.register_outputs({"namespaces": self.namespaces})

    def _register(
        self,
        manifest: Manifest,
        after: Sequence[pulumi.Input[pulumi.Resource]],
        timeouts: pulumi.CustomTimeouts | None = None,
    ) -> pulumi.CustomResource:
        return register(manifest, pulumi.ResourceOptions(parent=self, depends_on=list(after), custom_timeouts=timeouts))
