"""A Kubernetes cluster as a safe multi-tenant Flux platform: one typed description, applied in order."""

from functools import partial
from pathlib import Path

import pulumi

from components.cluster import Cluster, ClusterArgs, recorded_uid
from components.configuration import ConfigurationError
from components.flux_install import FluxInstall, FluxInstallArgs
from components.kubernetes_api import read_syncs
from components.manifests import register
from components.outputs import cluster_outputs, tenant_outputs
from components.preflight import preflight
from components.stack import read_stack
from components.tenant import Tenant, TenantArgs
from components.tenant_role import tenant_role

PROJECT = Path(__file__).parent


async def main() -> dict[str, object]:
    try:
        config = read_stack(PROJECT)
        found = preflight(config, await recorded_uid(), pulumi.get_stack(), PROJECT)
    except ConfigurationError as error:
        raise pulumi.RunError(str(error)) from None

    cluster = Cluster("cluster", ClusterArgs(config.cluster, found.cluster.uid))
    on_cluster = partial(pulumi.ResourceOptions, provider=cluster.provider)
    flux = FluxInstall("flux", FluxInstallArgs(config.flux, found.release), on_cluster())
    role = register(tenant_role(config.tenancy), on_cluster())
    tenants = {
        name: Tenant(name, TenantArgs(tenant), on_cluster(depends_on=[flux, role]))
        for name, tenant in config.tenants.items()
    }
    return {
        "cluster": cluster_outputs(config, found.cluster),
        "flux": {"version": flux.version, "profile": flux.profile},
        "tenants": tenant_outputs(config, tenants, partial(read_syncs, found.api)),
    }


pulumi.run(main)
