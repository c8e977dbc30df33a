"""What is left of tenants that are leaving: read for the stack's outputs, with a warning for each namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pulumi

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.engine import log
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.leaving.remaining_objects import Remains

LeavingTenants = dict[str, dict[str, str]]
"""By tenant and namespace, what is left in it, e.g. `1 PersistentVolumeClaim, 2 Secret`."""


def report_leaving(
    config: StackConfig, read_remains: Callable[[Mapping[str, TenantConfig]], Mapping[str, Mapping[str, Remains]]]
) -> pulumi.Output[LeavingTenants]:
    """What is left of the tenants that are leaving, with a warning that says what comes next.

    Args:
        config: the stack.
        read_remains: reads what is left of tenants, by namespace.
    """
    leaving = {name: tenant for name, tenant in config.tenants.items() if tenant.is_leaving}

    async def look() -> LeavingTenants:
        try:
            found = await asyncio.to_thread(read_remains, leaving)
        except ClusterUnavailable as error:
            # Nothing depends on it, so it does not fail the update.
            unknown = Message(
                "FT-TEN-106",
                f"cannot read the remaining objects of leaving tenants: {error}",
                "the next update reads them again",
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
