"""What the exported files take from a stack: its tenants, its controllers and its longest timeout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.installs.flux.lanes import instances_of

if TYPE_CHECKING:
    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.tenant.config import TenantConfig

_CONTACTS = ("contact", "owner", "team")
_APPLY_SECONDS = 15 * 60
"""The time to apply, in addition to the timeout of the health checks."""


@dataclass(frozen=True)
class MonitoredTenant:
    """A tenant, as labels of a series.

    Attributes:
        name: its name.
        contact: who is told about its alerts; empty if the stack does not say.
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
    """

    tenants: tuple[MonitoredTenant, ...]
    controllers: tuple[str, ...]
    kyverno: bool
    longest: int

    @classmethod
    def of(cls, config: StackConfig) -> MonitoredStack:
        """The facts of a stack."""
        tenants = [
            MonitoredTenant(name, _contact(each), config.flux.lane_of(each.lane), tuple(each.namespace_names))
            for name, each in config.active_tenants.items()
        ]
        controllers = [name for each in config.flux.components for name in instances_of(each, config.flux.lanes)]
        own = [each.policies.maximum_timeout for each in config.active_tenants.values()]
        timeout = max(seconds(each) for each in [config.policies.maximum_timeout, *own] if each)
        return cls(tuple(tenants), tuple(controllers), config.kyverno is not None, int(timeout) + _APPLY_SECONDS)


def _contact(tenant: TenantConfig) -> str:
    """An annotation of the tenant's home that names the team, or else the names of its developers."""
    annotations = next((dict(each.annotations) for each in tenant.namespaces), {})
    found = next((annotations[key] for key in _CONTACTS if key in annotations), "")
    return found or ", ".join(each.name for each in tenant.people.developers)
