"""Tenant: a team's namespaces, limits, identity, source, access and sync, created in this order, deleted in reverse.

A tenant that is leaving has only its namespaces and limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pulumi

from components.cluster.generated_names import generated_names, referring
from components.cluster.lost_namespaces import LostNamespaces
from components.cluster.manifests import register
from components.config.types import seconds
from components.git.source import GitAccess, RegisteredSource
from components.sources.source import register_any_source
from components.sync.notifications import register_notifications
from components.sync.status import ObjectName, sync_of
from components.tenant.capsule_names import CAPSULE_API, TENANT, TENANT_OWNER
from components.tenant.config import TenantConfig
from components.tenant.impersonation import Impersonation
from components.tenant.objects import TenantObjects, all_sources, tenant_objects
from components.tenant.offboarding import Offboarding
from components.tenant.tenancy_config import TenancyConfig
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import applied_key


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
        capsule: what Capsule needs to delete the tenant's objects of its own kinds; empty without Capsule.
        limits_first: what keeps a namespace empty that the tenant makes until its limits are there; in place before the
            tenant may make one.
    """

    config: TenantConfig
    access: GitAccess
    tenancy: TenancyConfig
    offboarding: Offboarding
    lost: LostNamespaces
    impersonation: Impersonation | None = None
    default_account: str = "default"
    capsule: Sequence[pulumi.Resource] = ()
    limits_first: Sequence[pulumi.Resource] = ()


class Tenant(pulumi.ComponentResource):
    """One tenant of the platform.

    Attributes:
        namespaces: names of its namespaces; the first is its home.
        sources: its sources, by the prefix of their objects' names; none if it is leaving.
        applied: everything that Flux applies for it, by its key among all syncs of the stack; empty if it is leaving.
    """

    namespaces: pulumi.Output[list[str]]
    sources: Mapping[str, RegisteredSource]
    applied: Mapping[str, pulumi.CustomResource] = MappingProxyType({})

    def __init__(self, name: str, args: TenantArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        parts = pulumi.ResourceOptions(transformations=[args.offboarding.of_parts])
        super().__init__("flux-tenancy:index:Tenant", name, None, pulumi.ResourceOptions.merge(opts, parts))
        self._capsule = args.capsule
        objects = tenant_objects(name, args.config, args.tenancy, args.default_account)
        held = {TENANT: pulumi.ResourceOptions(hooks=args.offboarding.of_capsule)}
        owners = [self._register_slow(args, each, [], held.get(each["kind"])) for each in objects.capsule]
        namespaces = [self._register_namespace(args, namespace, owners) for namespace in objects.namespaces]
        limits = [self._register(limit, after=namespaces) for limit in objects.limits]
        self.sources = {}
        # Limits are created before anyone gets access.
        if not args.config.is_leaving:
            for binding in objects.people:
                self._register(binding, after=[*namespaces, *limits])
            self.sources, self.applied = self._register_active(name, args, objects, [*namespaces, *limits])
        self.namespaces = pulumi.Output.from_input(list(args.config.namespace_names))
        self.register_outputs({"namespaces": self.namespaces})

    def _register_active(
        self, name: str, args: TenantArgs, objects: TenantObjects, limited: list[pulumi.Resource]
    ) -> tuple[Mapping[str, RegisteredSource], dict[str, pulumi.CustomResource]]:
        """The tenant's identity, sources, access and syncs."""
        identity = self._register(objects.identity, after=limited)
        if args.impersonation is not None:
            for namespace in args.config.namespace_names:
                limited = [*limited, *args.impersonation.before_sources(namespace, after=limited)]
        sources = {
            meta.prefix: registered
            for meta, source in all_sources(name, args.config)
            if (registered := register_any_source(meta, source, args.access, parent=self, after=[*limited]))
        }
        decrypting = [self._register(each, after=limited) for each in objects.decryption]
        granted = [self._register(role, after=limited) for role in objects.granted_roles]
        notifying = register_notifications(objects.notifications, parent=self, after=limited)
        secrets = [each for release in objects.releases for each in release.secrets]
        secret = [self._register(each, after=limited) for each in secrets]
        # Access is created after everything but the sync, so that it is deleted before anything whose deletion a
        # controller or a Git host could block.
        fetching = [each for source in sources.values() for each in source.registered]
        before_access = [*limited, identity, *decrypting, *fetching, *granted, *notifying, *secret]
        access: list[pulumi.Resource] = [
            self._register(each, [*before_access, *(args.limits_first if each["kind"] == TENANT_OWNER else ())])
            for each in objects.access
        ]
        if args.impersonation is not None:
            for namespace in args.config.namespace_names:
                access += args.impersonation.within(namespace, after=before_access)
        after = [*access, *decrypting, *secret, *(source.source for source in sources.values())]
        names = generated_names(zip([*objects.decryption, *secrets], [*decrypting, *secret], strict=True))
        return sources, self._register_applied(name, args, [referring(each, names) for each in objects.applied], after)

    def _register_applied(
        self, tenant: str, args: TenantArgs, manifests: Sequence[Manifest], after: Sequence[pulumi.Resource]
    ) -> dict[str, pulumi.CustomResource]:
        """What Flux applies, by its key: created last and deleted first, dependents before what they depend on.

        While Flux prunes, it must still be allowed to impersonate the tenant's account, and the account to delete. Flux
        prunes within the sync's own timeout; Pulumi waits longer.
        """
        margin = seconds(args.tenancy.offboarding_timeout)
        by_name: dict[ObjectName, pulumi.CustomResource] = {}
        for manifest in manifests:
            sync = sync_of(manifest)
            timeout = seconds(manifest["spec"]["timeout"]) + margin
            pruned = pulumi.ResourceOptions(
                custom_timeouts=pulumi.CustomTimeouts(delete=f"{timeout:.0f}s"), hooks=args.offboarding.of_sync
            )
            needed = [by_name[each] for each in sync.needed]
            by_name[sync.applied] = self._register(manifest, [*after, *needed], pruned)
        return {applied_key(tenant, kind, name): each for (kind, _, name), each in by_name.items()}

    def _register_namespace(
        self, args: TenantArgs, namespace: Manifest, after: Sequence[pulumi.Resource]
    ) -> pulumi.CustomResource:
        opts = pulumi.ResourceOptions(hooks=args.offboarding.of_namespace)
        opts = pulumi.ResourceOptions.merge(opts, args.lost.options(namespace))
        return self._register_slow(args, args.lost.counted(namespace), after, opts)

    def _register_slow(
        self,
        args: TenantArgs,
        manifest: Manifest,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> pulumi.CustomResource:
        """Register what is deleted only once everything in a namespace is."""
        timeout = f"{seconds(args.tenancy.offboarding_timeout):.0f}s"
        slow = pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(delete=timeout))
        return self._register(manifest, after, pulumi.ResourceOptions.merge(slow, opts))

    def _register(
        self,
        manifest: Manifest,
        after: Sequence[pulumi.Input[pulumi.Resource]],
        opts: pulumi.ResourceOptions | None = None,
    ) -> pulumi.CustomResource:
        # An update that removes Capsule no longer has what the component depends on, so these objects would outlive
        # Capsule, which removes their finalizers.
        capsule = self._capsule if manifest["apiVersion"] == CAPSULE_API else ()
        own = pulumi.ResourceOptions(parent=self, depends_on=[*after, *capsule])
        return register(manifest, pulumi.ResourceOptions.merge(own, opts))
