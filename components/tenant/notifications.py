"""The messages about one tenant: its own, and those that the platform gets about every tenant."""

from __future__ import annotations

from components.sync.notification_objects import NotificationObjects, notification_objects
from components.sync.notifications_config import Notification
from components.tenant.config import TenantConfig
from components.tenant.tenancy_config import TenancyConfig
from components.vocabulary.object_meta import ObjectMeta


def notifications_of(config: TenantConfig, tenancy: TenancyConfig) -> dict[str, Notification]:
    """All notifications about a tenant, by name; each is in each of its namespaces."""
    return {**tenancy.notifications, **config.notifications}


def notifications_in(meta: ObjectMeta, config: TenantConfig, tenancy: TenancyConfig) -> list[NotificationObjects]:
    """The objects of a tenant's notifications in one namespace.

    Args:
        meta: the namespace, with the name and label of the tenant.
        config: the tenant.
        tenancy: settings of all tenants.
    """
    return [
        notification_objects(meta, key, notification, config.repository_url)
        for key, notification in notifications_of(config, tenancy).items()
    ]
