"""Checks of the lanes that tenants name."""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.stack.checks.check import Finding
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.tenancy_config import TenancyMode


def _unknown_lanes(config: StackConfig) -> Iterator[Finding]:
    """Lanes without controllers: nobody would serve the tenant. So no lane is removed while it has tenants."""
    known = ", ".join(config.flux.lanes) or "none"
    for name, tenant in config.tenants.items():
        if tenant.lane is not None and tenant.lane not in config.flux.lanes:
            yield (
                ("tenants", name, "lane"),
                Message(
                    "FT-CFG-865",
                    f"is not one of the lanes of this stack: {known}",
                    "choose one of them, or add it to flux.lanes",
                ).of(tenant.lane),
            )


def _made_namespaces(config: StackConfig) -> Iterator[Finding]:
    """Syncs label everything that they apply with their lane, and tenants may not label the namespaces they make."""
    if config.flux.lanes and config.tenancy.mode is TenancyMode.CAPSULE:
        yield (
            ("flux", "lanes"),
            Message(
                "FT-CFG-866",
                "does not go together with tenancy.mode: capsule, whose tenants may not label their namespaces",
                "remove the lanes, or use another mode",
            ),
        )


def _mutation_without_policies(config: StackConfig) -> Iterator[Finding]:
    if config.flux.set_lanes and not config.policies.engine.native:
        yield (
            ("flux", "setLanes"),
            Message(
                "FT-CFG-868",
                "needs Kubernetes' own admission policies",
                "set policies.engine to native or both, or remove it",
            ),
        )


LANE_CHECKS = (_unknown_lanes, _made_namespaces, _mutation_without_policies)
