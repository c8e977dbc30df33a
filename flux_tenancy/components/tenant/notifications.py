"""The messages about one tenant: its own, and those that the platform gets about every tenant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flux_tenancy.components.sync.notifications import planned_notification

if TYPE_CHECKING:
    from flux_tenancy.components.plan.planned import Planned
    from flux_tenancy.components.tenant.scope import TenantScope


def planned_notifications(tenant: TenantScope) -> Iterator[Planned]:
    """All notifications about a tenant, in each of its namespaces: an Alert gets the events of its own only."""
    for place in tenant.places:
        for key, each in {**tenant.tenancy.notifications, **tenant.config.notifications}.items():
            yield from planned_notification(place, key, each, tenant.config.repository_url, tenant.provider_api)
