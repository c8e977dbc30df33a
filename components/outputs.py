"""Stack outputs: what an operator or a tenant asks next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pulumi

from components.configuration import StackConfig, TenantConfig
from components.configuration.types import seconds
from components.kubernetes_api import ClusterFacts, ClusterUnavailable
from components.sync_status import SyncStatus, wait_until_settled
from components.tenant import Tenant


def cluster_outputs(config: StackConfig, cluster: ClusterFacts) -> dict[str, Any]:
    """Which cluster the stack is, as `kubectl` would address it."""
    return {"uid": cluster.uid, "version": cluster.version, "context": config.cluster.context}


def tenant_outputs(
    config: StackConfig, tenants: Mapping[str, Tenant], read_syncs: Callable[[], list[Mapping[str, Any]]]
) -> dict[str, Any]:
    """For each tenant: what it has, how it is doing, and the commands to look closer."""
    statuses = _statuses(config, tenants, read_syncs)
    return {
        name: {
            **_description(name, tenant),
            "status": statuses.apply(lambda found, name=name: found[name]),
            "look": _commands(name, tenant, config.cluster.context),
        }
        for name, tenant in config.tenants.items()
    }


def _description(name: str, tenant: TenantConfig) -> dict[str, Any]:
    return {
        "namespaces": list(tenant.namespace_names),
        "role": tenant.role.value,
        "source": f"{tenant.source.kind}/{tenant.home}/{name}",
        "url": tenant.source.url,
        "path": tenant.sync.path,
    }


def _commands(name: str, tenant: TenantConfig, context: str | None) -> dict[str, str]:
    at = f" --context {context}" if context else ""
    return {
        "flux": f"flux get all -n {tenant.home}{at}",
        "kubectl": f"kubectl get gitrepositories,kustomizations,events -n {tenant.home}{at}",
        "reconcile": f"flux reconcile kustomization {name} -n {tenant.home} --with-source{at}",
    }


def _statuses(
    config: StackConfig, tenants: Mapping[str, Tenant], read_syncs: Callable[[], list[Mapping[str, Any]]]
) -> pulumi.Output[dict[str, dict[str, str]]]:
    """The state of all syncs, asked for once when the last one is registered; a preview looks and does not wait."""
    timeout = 0.0 if pulumi.runtime.is_dry_run() else seconds(config.tenancy.settle_timeout)
    homes = {name: (tenant.home, name) for name, tenant in config.tenants.items()}

    async def settle(_: Any) -> dict[str, dict[str, str]]:
        try:
            found = await asyncio.to_thread(wait_until_settled, read_syncs, list(homes.values()), timeout)
        except ClusterUnavailable as error:
            # Everything is applied by now; that nobody can be asked how it goes is no reason to call it failed.
            found = dict.fromkeys(homes.values(), SyncStatus("Unknown", str(error)))
        _warn({name: found[home] for name, home in homes.items()})
        return {name: {"ready": found[home].ready, "message": found[home].message} for name, home in homes.items()}

    return pulumi.Output.all(*(tenant.sync.id for tenant in tenants.values())).apply(settle)


def _warn(statuses: Mapping[str, SyncStatus]) -> None:
    for name, status in statuses.items():
        if status.ready != "True" and not pulumi.runtime.is_dry_run():
            pulumi.log.warn(f"tenant {name} is not ready: {status.message}")
