"""What the exported files take from a stack: its tenants, its controllers and its longest timeout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.installs.flux.release import instances_of

if TYPE_CHECKING:
    from flux_tenancy.components.stack.config import MonitoringConfig, StackConfig
    from flux_tenancy.components.tenant.config import TenantConfig

_CONTACTS = ("contact", "owner", "team")
_APPLY_SECONDS = 15 * 60
"""The time to apply, in addition to the timeout of the health checks."""


@dataclass(frozen=True)
class MonitoredTenant:
    """A tenant, as labels of a series.

    Attributes:
        name: its name.
        contact: who gets its alerts; empty if the stack does not say.
        lane: the lane whose controllers serve it; empty without lanes.
        namespaces: its namespaces; without those that it makes itself, with Capsule.
    """

    name: str
    contact: str
    lane: str
    namespaces: tuple[str, ...]


@dataclass(frozen=True)
class MonitoredStack:
    """A stack, as its monitoring needs it.

    Attributes:
        tenants: all tenants that are not leaving.
        controllers: the values of the label `app` of Flux's pods.
        kyverno: whether the stack installs Kyverno.
        longest: seconds that a worker may be busy with one object.
        section: the stack's `monitoring` section.
    """

    tenants: tuple[MonitoredTenant, ...]
    controllers: tuple[str, ...]
    kyverno: bool
    longest: int
    section: MonitoringConfig

    @classmethod
    def of(cls, config: StackConfig) -> MonitoredStack:
        """The facts of a stack."""
        tenants = [
            MonitoredTenant(
                name,
                _contact(each) or config.monitoring.contact or "",
                config.flux.lane_of(each.lane),
                tuple(each.namespace_names),
            )
            for name, each in config.active_tenants.items()
        ]
        controllers = [name for each in config.flux.components for name in instances_of(each, config.flux.lanes)]
        own = [each.policies.maximum_timeout for each in config.active_tenants.values()]
        timeout = max(seconds(each) for each in [config.policies.maximum_timeout, *own] if each)
        longest = int(timeout) + _APPLY_SECONDS
        return cls(tuple(tenants), tuple(controllers), config.kyverno is not None, longest, config.monitoring)


def _contact(tenant: TenantConfig) -> str:
    """The first annotation of a namespace of the tenant that names the team, or else the names of its developers."""
    found = (each.annotations[key] for each in tenant.namespaces for key in _CONTACTS if each.annotations.get(key))
    return next(found, "") or ", ".join(each.name for each in tenant.people.developers)
