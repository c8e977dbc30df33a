"""Everything that a tenant has, planned by its features: to add an object, plan it in its feature.

Source: `flux create tenant` of Flux's reference
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from flux_tenancy.components.plan.planned import Planned, Stage, of_stage
from flux_tenancy.components.tenant.capsule.objects import planned_capsule
from flux_tenancy.components.tenant.delegation import planned_delegation
from flux_tenancy.components.tenant.grants import planned_grants
from flux_tenancy.components.tenant.identity import planned_identity
from flux_tenancy.components.tenant.impersonation import planned_rights
from flux_tenancy.components.tenant.lanes import in_lane
from flux_tenancy.components.tenant.limits import planned_limits
from flux_tenancy.components.tenant.namespaces import planned_namespaces
from flux_tenancy.components.tenant.notifications import planned_notifications
from flux_tenancy.components.tenant.people import planned_people
from flux_tenancy.components.tenant.releases import planned_releases
from flux_tenancy.components.tenant.sources import planned_sources
from flux_tenancy.components.tenant.syncs import planned_syncs

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.scope import TenantScope

FEATURES: tuple[Callable[[TenantScope], Iterable[Planned]], ...] = (
    planned_namespaces,
    planned_people,
    planned_identity,
    lambda tenant: planned_rights(tenant.config.namespace_names, tenant.rights),
    planned_sources,
    planned_grants,
    planned_delegation,
    planned_notifications,
    planned_syncs,
    planned_releases,
)
"""What a tenant has, feature by feature; the order within a stage is that of registration, and nothing else."""

_OF_LEAVING = (Stage.CAPSULE, Stage.NAMESPACES, Stage.LIMITS)


def tenant_plan(tenant: TenantScope) -> list[Planned]:
    """All objects of a tenant; of one that is leaving, its namespaces and limits, which stay as they are."""
    others = [each for feature in FEATURES for each in feature(tenant)]
    planned = [*others, *planned_limits(tenant, others), *planned_capsule(tenant, others)]
    planned = [in_lane(each, tenant.lane) for each in planned]
    return of_stage(planned, *_OF_LEAVING) if tenant.config.is_leaving else planned
