"""The whole platform, registered in order: for an update, for a preview, and for a render without a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import pulumi

from components.cluster import Cluster, ClusterArgs
from components.cluster.hooks import hooked
from components.cluster.manifests import register
from components.cluster.protection import protect
from components.flux import FluxInstall, FluxInstallArgs, PlatformSync, PlatformSyncArgs
from components.flux.platform_objects import platform_path
from components.git import git_access
from components.git.rotation import PreviousKeys
from components.kyverno import KyvernoInstall
from components.stack.admission import kyverno_installation, kyverno_serves, policies_in_force
from components.stack.config import StackConfig
from components.stack.preflight import Preflight
from components.stack.surroundings import surroundings
from components.tenant import Tenant, TenantArgs
from components.tenant.impersonation import Impersonation, impersonations
from components.tenant.offboarding import Offboarding
from components.tenant.quota_hooks import QuotaHooks
from components.tenant.quota_status import QuotaStatus
from components.tenant.role import tenant_role


@dataclass(frozen=True)
class Platform:
    """The components of a stack.

    Attributes:
        flux: Flux.
        kyverno: Kyverno, or None.
        sync: the platform's own sync, or None.
        tenants: the tenants by name.
    """

    flux: FluxInstall
    kyverno: KyvernoInstall | None
    sync: PlatformSync | None
    tenants: Mapping[str, Tenant]


def register_platform(config: StackConfig, found: Preflight, previous: PreviousKeys) -> Platform:
    """Register every resource of a stack.

    Args:
        config: the stack.
        found: what the preflight has found.
        previous: the deploy keys of earlier updates that stay (`components.git.rotation`).
    """
    api, facts = found.cluster.api, found.cluster.facts
    protect(found.protected)
    cluster = Cluster("cluster", ClusterArgs(config.cluster, facts.uid, found.protected))
    on_cluster = partial(pulumi.ResourceOptions, provider=cluster.provider)
    kyverno = kyverno_installation(config, found, on_cluster)
    serving = kyverno_serves(kyverno)
    counted = hooked(QuotaHooks(QuotaStatus(api), config.tenants, config.tenancy).of)

    roles = impersonations(config.flux, config.active_tenants, config.tenancy)
    served = on_cluster(depends_on=serving.after, transformations=[serving.waiting, counted])
    impersonation = Impersonation(roles, facts.namespaces, served)
    flux_args = FluxInstallArgs(config.flux, found.release, impersonation.standing, surroundings(config))
    flux = FluxInstall("flux", flux_args, on_cluster())
    role = register(tenant_role(config.tenancy), on_cluster())
    guard = policies_in_force(config, found, kyverno, [flux, role], on_cluster)
    guarded = partial(on_cluster, depends_on=[flux, role, *guard.after], transformations=[guard.waiting, counted])

    access = git_access(config.git_sources, previous)
    platform = None
    if (sync := config.flux.sync) is not None:
        args = PlatformSyncArgs(sync, platform_path(sync, pulumi.get_stack()), access)
        platform = PlatformSync("platform", args, guarded())
    tenant_args = partial(
        TenantArgs,
        access=access,
        tenancy=config.tenancy,
        offboarding=Offboarding(api, config.active_tenants, config.cluster.context),
        lost=found.cluster.lost,
        impersonation=impersonation,
        default_account=config.flux.default_service_account,
    )
    tenants = {name: Tenant(name, tenant_args(tenant), guarded()) for name, tenant in config.tenants.items()}
    return Platform(flux, kyverno, platform, tenants)
