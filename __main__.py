"""Turns a Kubernetes cluster into a multi-tenant Flux platform, from one typed configuration."""

from functools import partial
from pathlib import Path

import pulumi

from components.cluster import Cluster, ClusterArgs
from components.cluster.client import find_object
from components.cluster.hooks import hooked
from components.cluster.manifests import register
from components.config.errors import ConfigurationError
from components.engine.state import read_state
from components.flux import FluxInstall, FluxInstallArgs, PlatformSync, PlatformSyncArgs
from components.flux.platform_objects import platform_path
from components.git import git_access
from components.git.rotation import previous_keys, rotations
from components.stack.access_report import report_further_access
from components.stack.admission import kyverno_installation, kyverno_serves, policies_in_force
from components.stack.current import read_stack, stack_file
from components.stack.outputs import stack_outputs
from components.stack.preflight import preflight
from components.stack.preparation import prepare
from components.stack.settling import settled
from components.stack.surroundings import surroundings
from components.sync.changes import watch_changes
from components.sync.flux_objects import flux_objects
from components.tenant import Tenant, TenantArgs
from components.tenant.bindings import read_further_access
from components.tenant.impersonation import Impersonation, impersonations
from components.tenant.offboarding import Offboarding
from components.tenant.quota_hooks import QuotaHooks
from components.tenant.quota_status import QuotaStatus
from components.tenant.role import tenant_role

PROJECT = Path(__file__).parent


async def main() -> dict[str, object]:
    try:
        file = stack_file(PROJECT)
        config = read_stack(PROJECT, file)
        state = await read_state()
        found = preflight(config, state, file.name, PROJECT)
    except ConfigurationError as error:
        raise pulumi.RunError(str(error)) from None
    await prepare(config, found, state)
    api, facts, find = found.cluster.api, found.cluster.facts, partial(find_object, found.cluster.api)
    previous = previous_keys(config.git_sources, state, find)
    changes = watch_changes()

    cluster = Cluster("cluster", ClusterArgs(config.cluster, facts.uid))
    on_cluster = partial(pulumi.ResourceOptions, provider=cluster.provider)
    kyverno = kyverno_installation(config, found, on_cluster)
    serving = kyverno_serves(kyverno)
    counted = hooked(QuotaHooks(QuotaStatus(api), config.tenants, config.tenancy).of)

    roles = impersonations(config.flux, config.tenants, config.tenancy)
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
        offboarding=Offboarding(api, config.tenants, config.cluster.context),
        lost=found.cluster.lost,
        impersonation=impersonation,
        default_account=config.flux.default_service_account,
    )
    tenants = {name: Tenant(name, tenant_args(tenant), guarded()) for name, tenant in config.tenants.items()}

    progress = settled(config, platform, tenants, flux_objects(api), changes)
    further = report_further_access(config, progress, partial(read_further_access, api))
    rotating = rotations(config.git_sources, previous, progress, find)
    return stack_outputs(config, facts, flux, kyverno, platform, tenants, progress, further, rotating)


pulumi.run(main)
