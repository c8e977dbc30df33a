"""Bounds of the policies that may differ per tenant.

How much tenants can store at most follows from the numbers of objects that quotas allow and how large one may be:
`tenancy.store.namespace` is the size that one namespace may reach, and the numbers follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from flux_tenancy.components.config.allowances import SeenOtherwise
from flux_tenancy.components.config.errors import BEYOND
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import Duration, seconds
from flux_tenancy.components.tenant.limits import COUNT, OBJECT_COUNTS, all_counts
from flux_tenancy.components.tenant.role import flux_resources
from flux_tenancy.components.vocabulary.manifests import parse_quantity

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.tenancy_config import TenantLimits

_SHORTEST_TOKEN_LIFETIME = "1h"


def _token_lifetime(duration: str) -> str:
    if seconds(duration) < seconds(_SHORTEST_TOKEN_LIFETIME):
        raise ValueError(
            BEYOND(
                beyond="shorter",
                bound="what Kubernetes requests for every pod",
                most=_SHORTEST_TOKEN_LIFETIME,
                within="more",
            )
        )
    return duration


TokenLifetime = Annotated[Duration, AfterValidator(_token_lifetime)]
_OwnDuration = Annotated[Duration | None, SeenOtherwise()]


class TenantBounds(Section):
    """Bounds of the policies for one tenant; those that are not set are those of the stack."""

    minimum_interval: _OwnDuration = Field(None, description="Instead of `policies.minimumInterval`.")
    maximum_timeout: _OwnDuration = Field(None, description="Instead of `policies.maximumTimeout`.")
    maximum_release_size: Annotated[int | None, SeenOtherwise()] = Field(
        None, ge=1, le=1024, description="Instead of the stack's, in KiB."
    )
    maximum_termination_grace_period: _OwnDuration = Field(
        None, description="Instead of `policies.maximumTerminationGracePeriod`."
    )
    maximum_token_lifetime: Annotated[TokenLifetime | None, SeenOtherwise()] = Field(
        None, description="Instead of `policies.maximumTokenLifetime`."
    )
    blocking_disruption_budgets: Annotated[bool | None, SeenOtherwise()] = Field(
        None, description="Instead of `policies.blockingDisruptionBudgets`."
    )


# Load balancers are counted as Services, too.
_DEFAULTS = {name: count for name, count in OBJECT_COUNTS.items() if name != "services.loadbalancers"}
STORED = frozenset({*_DEFAULTS, *flux_resources()})
"""The kinds that every tenant can store, as `<plural>.<group>`."""


@dataclass(frozen=True)
class LargestObjects:
    """How large an object may be, in bytes.

    Attributes:
        secret: a Secret, also one in which Helm stores a release.
    """

    config_map: int
    secret: int
    other: int

    def of(self, resource: str) -> int:
        """How large an object of a resource may be, by its name `<plural>.<group>`."""
        return {"configmaps": self.config_map, "secrets": self.secret}.get(resource, self.other)


def most_bytes(counts: Mapping[str, int], largest: LargestObjects) -> int:
    """How many bytes so many objects have at most.

    Args:
        counts: their numbers, by resource.
    """
    return sum(count * largest.of(resource) for resource, count in counts.items())


def counted_by(hard: Mapping[str, str]) -> dict[str, int]:
    """The numbers of objects that a quota allows, by resource.

    Args:
        hard: its `hard`, in which Kubernetes' older kinds may have no prefix.
    """
    names = ((key, key.removeprefix(COUNT)) for key in hard)
    return {name: int(parse_quantity(hard[key])) for key, name in names if key != name or name in STORED}


def within(limits: TenantLimits, size: int, largest: LargestObjects) -> TenantLimits:
    """These limits with numbers of objects that have no more than this many bytes together.

    The default numbers become smaller, all in the same proportion; those that are set stay.
    """
    given = {each.removeprefix(COUNT) for each in (*limits.objects, *limits.quota)}
    free = {name: count for name, count in _DEFAULTS.items() if name not in given}
    every = counted_by(all_counts(limits))
    if "flux_objects" not in limits.model_fields_set:
        free |= {name: count for name in flux_resources() if (count := every[name]) == limits.flux_objects}
    fixed = most_bytes({name: count for name, count in every.items() if name not in free}, largest)
    share = (size - fixed) / most_bytes(free, largest) if free else 1
    if share >= 1:
        return limits
    scaled = {name: max(1, int(count * share)) for name, count in free.items()}
    flux = min((scaled.pop(name) for name in flux_resources() if name in scaled), default=limits.flux_objects)
    return limits.model_copy(update={"objects": scaled | dict(limits.objects), "flux_objects": flux})
