"""What policies need to know about a tenant, as annotations of the tenant's namespaces.

Admission has the namespace of a request, so a policy is the same for all tenants and onboarding changes none. The
annotations come from the tenant's configuration, and only the platform may write to the namespace (policy
`tenant-namespace`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.tenant.grants import Grant, granted_exceptions, granted_resources, granted_service_types
from flux_tenancy.components.tenant.role import resources_of
from flux_tenancy.components.vocabulary.names import DEFAULT_LANE

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.config import TenantConfig, TenantPolicies

PREFIX = "flux-tenancy/"
NAMESPACES = f"{PREFIX}namespaces"
KINDS = f"{PREFIX}kinds"
SOURCES = f"{PREFIX}sources"
IMAGES = f"{PREFIX}images"
VERIFIED = f"{PREFIX}verified"
LANE = f"{PREFIX}lane"
SERVICE_ACCOUNT = f"{PREFIX}service-account"
IMPLIED_ACCOUNT = f"{PREFIX}implied-service-account"
NOTIFICATIONS = f"{PREFIX}notifications"
HOSTS = f"{PREFIX}hosts"
PRIORITY_CLASSES = f"{PREFIX}priority-classes"
TOLERATIONS = f"{PREFIX}tolerations"
STORAGE_CLASSES = f"{PREFIX}storage-classes"
CSI_DRIVERS = f"{PREFIX}csi-drivers"
SERVICE_TYPES = f"{PREFIX}service-types"
EXCEPTIONS = f"{PREFIX}exceptions"
MINIMUM_INTERVAL = f"{PREFIX}minimum-interval"
MAXIMUM_TIMEOUT = f"{PREFIX}maximum-timeout"
MAXIMUM_RELEASE_SIZE = f"{PREFIX}maximum-release-size"
MAXIMUM_GRACE_PERIOD = f"{PREFIX}maximum-termination-grace-period"
MAXIMUM_TOKEN_LIFETIME = f"{PREFIX}maximum-token-lifetime"
BLOCKING_BUDGETS = f"{PREFIX}blocking-disruption-budgets"
FREEZES = f"{PREFIX}freezes"
WITHOUT_GRANTS = f"{PREFIX}without-grants"
"""An annotation of any object, with which policies check it as if its tenant had no grants."""


def namespace_lists(config: TenantConfig, grants: Sequence[Grant]) -> dict[str, Sequence[str]]:
    """What policies need to know about a tenant in one of its namespaces, by annotation; empty lists left out."""
    lists: dict[str, Sequence[str]] = {
        NAMESPACES: config.namespace_names,
        KINDS: tuple(dict.fromkeys((*resources_of(config.policies.kinds), *granted_resources(grants)))),
        SOURCES: config.policies.sources,
        IMAGES: config.policies.images,
        VERIFIED: config.policies.verified,
        NOTIFICATIONS: config.policies.notifications,
        HOSTS: config.policies.hosts,
        PRIORITY_CLASSES: config.policies.priority_classes,
        TOLERATIONS: config.policies.tolerations,
        STORAGE_CLASSES: config.policies.storage_classes,
        CSI_DRIVERS: config.policies.csi_drivers,
        SERVICE_TYPES: granted_service_types(grants),
        EXCEPTIONS: granted_exceptions(grants),
    }
    return {key: entries for key, entries in lists.items() if entries} | _bounds(config.policies)


def _bounds(policies: TenantPolicies) -> dict[str, Sequence[str]]:
    """The bounds of the tenant that differ from those of the stack, each as a list of one."""
    bounds = {
        MINIMUM_INTERVAL: policies.minimum_interval,
        MAXIMUM_TIMEOUT: policies.maximum_timeout,
        MAXIMUM_RELEASE_SIZE: policies.maximum_release_size,
        MAXIMUM_GRACE_PERIOD: policies.maximum_termination_grace_period,
        MAXIMUM_TOKEN_LIFETIME: policies.maximum_token_lifetime,
        BLOCKING_BUDGETS: policies.blocking_disruption_budgets,
    }
    return {key: (str(bound).lower(),) for key, bound in bounds.items() if bound is not None}


def namespace_annotations(config: TenantConfig, grants: Sequence[Grant]) -> dict[str, str]:
    """The annotations of a tenant's namespace: its `namespace_lists`, separated by spaces."""
    return {key: " ".join(entries) for key, entries in namespace_lists(config, grants).items()}


def lane_annotations(lane: str) -> dict[str, str]:
    """The annotation about the tenant's lane; left out for the one of tenants that name none, and without lanes."""
    return {LANE: lane} if lane not in ("", DEFAULT_LANE) else {}


def account_annotations(tenant: str, account: str, default_account: str) -> dict[str, str]:
    """The annotations about the tenant's service account.

    Args:
        account: name of its service account; left out if it is the tenant's name.
    """
    named = {SERVICE_ACCOUNT: account} if account != tenant else {}
    return named | ({IMPLIED_ACCOUNT: account} if account == default_account else {})
