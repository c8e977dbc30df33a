"""What tenants and Flux's controllers may do in addition, and what is left of leaving tenants, each with a warning."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import Any

import pulumi

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.engine import log
from flux_tenancy.components.plan import Stage, of_stage
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.platform import Platform
from flux_tenancy.components.sync.status import Progress
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.further_access import FurtherBinding, TenantAccess
from flux_tenancy.components.tenant.leaving.remaining_objects import Remains
from flux_tenancy.components.vocabulary.manifests import Manifest

CANNOT = Wording("FT-TEN-104", "cannot {do}: {reason}", "{remedy}")
FurtherAccess = dict[str, list[str]]
"""By tenant, a summary of each further binding."""


def report_further_access(
    config: StackConfig,
    platform: Platform,
    progress: pulumi.Output[dict[str, Progress]],
    read_further_access: Callable[[Mapping[str, TenantAccess]], Mapping[str, Sequence[FurtherBinding]]],
    read_further_controller_access: Callable[[Sequence[Manifest]], Sequence[FurtherBinding]],
) -> pulumi.Output[FurtherAccess]:
    """What tenants may do in addition to their role, with a warning for each binding that lets them or a controller.

    A preview reads it at once; an update after the syncs have settled, since they may apply bindings, too.
    """
    tenants = {
        name: TenantAccess(
            tenant.namespace_names,
            [
                each.manifest
                for each in of_stage(platform.plan.tenants[name], Stage.ACCESS)
                if "roleRef" in each.manifest and not each.beside
            ],
        )
        for name, tenant in config.active_tenants.items()
    }

    async def look(_: Any) -> FurtherAccess:
        try:
            found = await asyncio.to_thread(read_further_access, tenants) if tenants else {}
            of_controllers = await asyncio.to_thread(read_further_controller_access, platform.flux.rights)
        except ClusterUnavailable as error:
            # The right to read bindings is needed for nothing else, so a lack of it does not fail the update.
            unknown = CANNOT(
                do="read the rights of tenants and controllers beyond the stack's",
                reason=error,
                remedy="let the update list roles and role bindings",
            )
            log.warn(unknown)
            return dict.fromkeys(tenants, [str(unknown)])
        owners: dict[str, list[str]] = defaultdict(list)
        for name, further in found.items():
            for binding in further:
                owners[binding.summary].append(name)
        for summary, names in owners.items():
            log.warn(
                Message(
                    "FT-TEN-103",
                    f"tenant {', '.join(names)} has rights beyond its role: {summary}",
                    "delete the binding unless you want it, and replace it by `grants` (docs/grants.md)",
                )
            )
        for binding in of_controllers:
            log.warn(
                Message(
                    "FT-FLX-020",
                    f"Flux's controllers have rights beyond the stack's: {binding.summary}",
                    "after `pulumi up`, remove it from its repository, if any, which would restore it, and delete it "
                    f"with `kubectl delete clusterrolebinding {quote(binding.name)}` (docs/adoption.md)",
                )
            )
        return {name: [binding.summary for binding in further] for name, further in found.items()}

    return (pulumi.Output.from_input({}) if pulumi.runtime.is_dry_run() else progress).apply(look)


LeavingTenants = dict[str, dict[str, str]]
"""By tenant and namespace, what is left in it, e.g. `1 PersistentVolumeClaim, 2 Secret`."""


def report_leaving(
    config: StackConfig, read_remains: Callable[[Mapping[str, TenantConfig]], Mapping[str, Mapping[str, Remains]]]
) -> pulumi.Output[LeavingTenants]:
    """What is left of the tenants that are leaving, with a warning that says what comes next.

    Args:
        read_remains: reads what is left of tenants, by namespace.
    """
    leaving = {name: tenant for name, tenant in config.tenants.items() if tenant.is_leaving}

    async def look() -> LeavingTenants:
        try:
            found = await asyncio.to_thread(read_remains, leaving)
        except ClusterUnavailable as error:
            # Nothing depends on it, so it does not fail the update.
            unknown = CANNOT(
                do="read the remaining objects of leaving tenants",
                reason=error,
                remedy="the next update reads them again",
            )
            log.warn(unknown)
            return {name: dict.fromkeys(tenant.namespace_names, str(unknown)) for name, tenant in leaving.items()}
        for name, namespaces in found.items():
            for namespace, remains in namespaces.items():
                log.warn(
                    Message(
                        "FT-TEN-105",
                        f"tenant {name} is leaving: its sync and its access are removed; remaining in namespace "
                        f"{namespace}: {remains}",
                        f"to delete the namespace with everything in it, remove tenants.{name} from the stack; to "
                        "take the tenant back, remove its `state` (docs/tenants.md)",
                    )
                )
        return {name: {each: str(left) for each, left in namespaces.items()} for name, namespaces in found.items()}

    return pulumi.Output.from_input(look() if leaving else {})
