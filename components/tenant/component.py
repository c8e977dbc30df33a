"""Tenant: a team's namespaces, limits, identity, source, access and sync, created in this order, deleted in reverse.

A tenant that is leaving has only its namespaces and limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.cluster.generated_names import generated_names, referring
from components.cluster.lost_namespaces import LostNamespaces
from components.cluster.manifests import Manifest, register
from components.config.types import seconds
from components.git.source import GitAccess, RegisteredSource, register_source
from components.tenant.config import TenancyConfig, TenantConfig
from components.tenant.impersonation import Impersonation
from components.tenant.objects import TenantObjects, source_meta, tenant_objects
from components.tenant.offboarding import Offboarding


@dataclass(frozen=True)
class TenantArgs:
    """What Tenant needs.

    Attributes:
        config: the tenant's configuration in this stack.
        access: what all Git sources of the stack share.
        tenancy: settings of all tenants.
        offboarding: error hooks for objects that are not deleted in time.
        lost: namespaces that are in the state and missing from the cluster.
        impersonation: the Roles that let Flux impersonate the tenant; None if Flux is cluster-admin.
        default_account: the service account that Flux uses for objects that name none.
    """

    config: TenantConfig
    access: GitAccess
    tenancy: TenancyConfig
    offboarding: Offboarding
    lost: LostNamespaces
    impersonation: Impersonation | None = None
    default_account: str = "default"


class Tenant(pulumi.ComponentResource):
    """One tenant of the platform.

    Attributes:
        namespaces: names of its namespaces; the first is its home.
        source: its Git repository; None if it is leaving.
        sync: the Flux Kustomization that applies it; None if it is leaving.
    """

    namespaces: pulumi.Output[list[str]]
    source: RegisteredSource | None = None
    sync: pulumi.CustomResource | None = None

    def __init__(self, name: str, args: TenantArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        parts = pulumi.ResourceOptions(transformations=[args.offboarding.of_parts])
        super().__init__("flux-tenancy:index:Tenant", name, None, pulumi.ResourceOptions.merge(opts, parts))
        objects = tenant_objects(name, args.config, args.tenancy, args.default_account)
        namespaces = [self._register_namespace(args, namespace) for namespace in objects.namespaces]
        limits = [self._register(limit, after=namespaces) for limit in objects.limits]
        # Limits are created before anyone gets access.
        if not args.config.is_leaving:
            self.source, self.sync = self._register_sync(name, args, objects, [*namespaces, *limits])
        self.namespaces = pulumi.Output.from_input(list(args.config.namespace_names))
        self.register_outputs({"namespaces": self.namespaces})

    def _register_sync(
        self, name: str, args: TenantArgs, objects: TenantObjects, limited: list[pulumi.Resource]
    ) -> tuple[RegisteredSource, pulumi.CustomResource]:
        """The tenant's identity, source, access and sync."""
        identity = self._register(objects.identity, after=limited)
        meta = source_meta(name, args.config)
        source = register_source(meta, args.config.source, args.access, parent=self, after=[*limited])
        decrypting = [self._register(each, after=limited) for each in objects.decryption]
        # Access is created after everything but the sync, so that it is deleted before anything whose deletion a
        # controller or a Git host could block.
        before_access = [*limited, identity, *decrypting, *source.registered]
        access: list[pulumi.Resource] = [self._register(binding, after=before_access) for binding in objects.access]
        if args.impersonation is not None:
            for namespace in args.config.namespace_names:
                access += args.impersonation.within(namespace, after=before_access)
        # The sync is created last and deleted first: while Flux prunes, it must still be allowed to impersonate the
        # tenant's account, and the account to delete. Flux prunes within the sync's own timeout; Pulumi waits longer.
        margin = seconds(args.tenancy.offboarding_timeout)
        pruned = pulumi.ResourceOptions(
            custom_timeouts=pulumi.CustomTimeouts(delete=f"{seconds(args.config.sync.timeout) + margin:.0f}s"),
            hooks=args.offboarding.of_sync,
        )
        sync = referring(objects.sync, generated_names(zip(objects.decryption, decrypting, strict=True)))
        return source, self._register(sync, [*access, *decrypting, source.source], pruned)

    def _register_namespace(self, args: TenantArgs, namespace: Manifest) -> pulumi.CustomResource:
        timeout = f"{seconds(args.tenancy.offboarding_timeout):.0f}s"
        opts = pulumi.ResourceOptions(
            custom_timeouts=pulumi.CustomTimeouts(delete=timeout), hooks=args.offboarding.of_namespace
        )
        opts = pulumi.ResourceOptions.merge(opts, args.lost.options(namespace))
        return self._register(args.lost.counted(namespace), [], opts)

    def _register(
        self,
        manifest: Manifest,
        after: Sequence[pulumi.Input[pulumi.Resource]],
        opts: pulumi.ResourceOptions | None = None,
    ) -> pulumi.CustomResource:
        own = pulumi.ResourceOptions(parent=self, depends_on=list(after))
        return register(manifest, pulumi.ResourceOptions.merge(own, opts))
