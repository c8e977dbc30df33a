"""What a policy has to know of a tenant, as annotations of the tenant's namespaces.

Admission sees the namespace of a request, so a policy is the same for all tenants and onboarding one changes none. The
annotations come from the tenant's configuration, and nobody but the platform may write to the namespace (policy
`tenant-namespace`).
"""

from __future__ import annotations

from components.tenant.config import TenantConfig

PREFIX = "flux-tenancy/"
NAMESPACES = f"{PREFIX}namespaces"
SOURCES = f"{PREFIX}sources"
IMAGES = f"{PREFIX}images"
VERIFIED = f"{PREFIX}verified"
SERVICE_ACCOUNT = f"{PREFIX}service-account"
IMPLIED_ACCOUNT = f"{PREFIX}implied-service-account"
NOTIFICATIONS = f"{PREFIX}notifications"
HOSTS = f"{PREFIX}hosts"


def namespace_annotations(config: TenantConfig) -> dict[str, str]:
    """What the policies read of a tenant's namespace; a list is separated by spaces, an empty one is left out."""
    lists = {
        NAMESPACES: config.namespace_names,
        SOURCES: config.policies.sources,
        IMAGES: config.policies.images,
        VERIFIED: config.policies.verified,
        NOTIFICATIONS: config.policies.notifications,
        HOSTS: config.policies.hosts,
    }
    return {key: " ".join(entries) for key, entries in lists.items() if entries}


def account_annotations(tenant: str, account: str, default_account: str) -> dict[str, str]:
    """What the policies read of the tenant's service account.

    Args:
        tenant: the tenant.
        account: its account's name; it is left out where it is the tenant's.
        default_account: the account that Flux takes where an object names none.
    """
    named = {SERVICE_ACCOUNT: account} if account != tenant else {}
    return named | ({IMPLIED_ACCOUNT: account} if account == default_account else {})
