"""A Kubernetes cluster as a safe multi-tenant Flux platform: one typed description, applied in order."""

from functools import partial
from pathlib import Path

import pulumi

from components.cluster.adoption import adopt
from components.cluster.client import find_object
from components.cluster.co_owners import take_back
from components.cluster.component import Cluster, ClusterArgs
from components.cluster.hooks import hooked
from components.cluster.manifests import register
from components.config.errors import ConfigurationError
from components.engine.state import read_state
from components.flux.component import FluxInstall, FluxInstallArgs
from components.flux.platform_objects import platform_path
from components.flux.platform_sync import PlatformSync, PlatformSyncArgs
from components.git.github_leftovers import clear_github
from components.git.rotation import previous_keys, rotations
from components.git.source import git_access
from components.kyverno.unfinished_release import settle_release
from components.stack.admission import kyverno_installation, kyverno_serves, policies_in_force
from components.stack.current import read_stack, stack_file
from components.stack.outputs import beside_role, settled, stack_outputs
from components.stack.preflight import preflight
from components.stack.strays import remove_strays
from components.stack.surroundings import surroundings
from components.stack.taken_names import planned_objects
from components.sync.changes import watch_changes
from components.sync.flux_objects import flux_objects
from components.tenant.bindings import read_further_access
from components.tenant.component import Tenant, TenantArgs
from components.tenant.impersonation import Impersonation, impersonations
from components.tenant.offboarding import Offboarding
from components.tenant.quota_hooks import QuotaHooks
from components.tenant.quota_status import QuotaStatus
from components.tenant.role import tenant_role

PROJECT = Path(__file__).parent


async def main() -> dict[str, object]:
    stack = pulumi.get_stack()
    try:
        file = stack_file(PROJECT)
        config = read_stack(PROJECT, file)
        state = await read_state()
        found = preflight(config, state, file.name, PROJECT)
    except ConfigurationError as error:
        raise pulumi.RunError(str(error)) from None

    for warning in found.warnings:
        pulumi.log.warn(warning)
    take_back(found.api, found.co_owners)
    clear_github(config.github, found.leftovers)
    settle_release(found.api, found.kyverno_release)
    remove_strays(found.api, found.strays)
    if config.cluster.adopt:
        await adopt(found.api, state, [*found.release, *(planned for _, planned in planned_objects(config))])
    find = partial(find_object, found.api)
    previous = previous_keys(config.git_sources, state, find)
    changes = watch_changes()
    cluster = Cluster("cluster", ClusterArgs(config.cluster, found.cluster.uid))
    on_cluster = partial(pulumi.ResourceOptions, provider=cluster.provider)
    kyverno = kyverno_installation(config, found, on_cluster)
    counted = hooked(QuotaHooks(QuotaStatus(found.api), config.tenants, config.tenancy).of)
    serving = kyverno_serves(kyverno)
    served = on_cluster(depends_on=serving.after, transformations=[serving.waiting, counted])
    impersonation = Impersonation(
        impersonations(config.flux, config.tenants, config.tenancy), found.cluster.namespaces, served
    )
    flux_args = FluxInstallArgs(config.flux, found.release, impersonation.standing, surroundings(config))
    flux = FluxInstall("flux", flux_args, on_cluster())
    role = register(tenant_role(config.tenancy), on_cluster())
    guard = policies_in_force(config, found, kyverno, [flux, role], on_cluster)
    guarded = partial(on_cluster, depends_on=[flux, role, *guard.after], transformations=[guard.waiting, counted])
    access = git_access(config.git_sources, previous)
    platform = None
    if config.flux.sync is not None:
        args = PlatformSyncArgs(config.flux.sync, platform_path(config.flux.sync, stack), access)
        platform = PlatformSync("platform", args, guarded())
    tenant_args = partial(
        TenantArgs,
        access=access,
        tenancy=config.tenancy,
        offboarding=Offboarding(found.api, config.tenants, config.cluster.context),
        lost=found.lost,
        impersonation=impersonation,
        default_account=config.flux.default_service_account,
    )
    tenants = {name: Tenant(name, tenant_args(tenant), guarded()) for name, tenant in config.tenants.items()}
    progress = settled(config, platform, tenants, flux_objects(found.api), changes)
    further = beside_role(config, progress, partial(read_further_access, found.api))
    rotating = rotations(config.git_sources, previous, progress, find)
    return stack_outputs(config, found.cluster, flux, kyverno, platform, tenants, progress, further, rotating)


pulumi.run(main)
