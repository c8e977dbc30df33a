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
    from flux_tenancy.components.tenant.config import TenantConfig

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
    """What policies need to know about a tenant in one of its namespaces, by annotation; empty lists left out.

    Each key of the tenant's `policies` has an annotation of its name; a bound is a list of one.
    """
    policies = config.policies
    lists: dict[str, Sequence[str]] = {NAMESPACES: config.namespace_names}
    for name in type(policies).model_fields:
        value = getattr(policies, name)
        bound = () if value is None else (str(value).lower(),)
        lists[f"{PREFIX}{name.replace('_', '-')}"] = value if isinstance(value, tuple) else bound
    lists[KINDS] = tuple(dict.fromkeys((*resources_of(policies.kinds), *granted_resources(grants))))
    lists |= {SERVICE_TYPES: granted_service_types(grants), EXCEPTIONS: granted_exceptions(grants)}
    return {key: entries for key, entries in lists.items() if entries}


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
