"""Checks of notifications against the rest of the stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flux_tenancy.components.config.errors import MISSING, RESERVED
from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.config.sealed import is_sealed
from flux_tenancy.components.policies.notifications import refused_address
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.stack.checks.policies import is_in_use
from flux_tenancy.components.sync.notifications import Address, Notification, stated_address
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.components.vocabulary.object_meta import SecretPurpose

if TYPE_CHECKING:
    from flux_tenancy.components.config.errors import KeyPath
    from flux_tenancy.components.stack.checks import Check, Finding
    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.tenant.config import TenantConfig

PROVIDERS_WITHOUT_LIST = Wording(
    "FT-MSG-063", "opens Providers to tenant {tenant}, but no allowed host is set", "list the hosts in {keys}"
)

PROVIDER = "Provider"

NO_CONTROLLER = Wording("FT-CFG-661", "needs {controller}, but flux.components does not list it", "add it there")


def _without_controller(config: StackConfig) -> Iterator[Finding]:
    if Controller.NOTIFICATION in config.flux.components:
        return
    places: dict[KeyPath, object] = {
        ("flux", "notifications"): config.flux.notifications,
        ("tenancy", "notifications"): config.tenancy.notifications,
    }
    places |= {("tenants", name, "notifications"): each.notifications for name, each in config.active_tenants.items()}
    for path, found in places.items():
        if found:
            yield path, NO_CONTROLLER(controller=Controller.NOTIFICATION)


def _names_of_the_platform(config: StackConfig) -> Iterator[Finding]:
    """Notifications of a tenant whose objects would have the names of the platform's."""
    for name, tenant in config.active_tenants.items():
        for key in tenant.notifications:
            if key in config.tenancy.notifications:
                yield ("tenants", name, "notifications", key), RESERVED(owner="a notification of tenancy.notifications")


def _names_of_other_secrets(config: StackConfig) -> Iterator[Finding]:
    """Notifications whose Secret would have the name of one for a source, sync or release of a tenant."""
    others = {
        f"{name}.{each}"
        for name, tenant in config.active_tenants.items()
        for each in (*tenant.sources, *tenant.syncs, *tenant.releases)
    }
    for name, tenant in config.active_tenants.items():
        for key, notification in tenant.notifications.items():
            other, _, purpose = f"{tenant.home}.{key}".rpartition("-")
            if notification.has_secret and other in others and purpose in list(SecretPurpose):
                yield (
                    ("tenants", name, "notifications", key),
                    RESERVED(owner=f"{other}: its Secret for {purpose} would have the same name"),
                )


def _without_repository(config: StackConfig) -> Iterator[Finding]:
    """Notifications to the repository of a tenant that has none."""
    for name, tenant in config.active_tenants.items():
        if tenant.repository_url is not None:
            continue
        for key, each in tenant.notifications.items():
            stated = each.address is not None or each.secret_address is not None
            if each.provider.address is Address.REPOSITORY and not stated:
                yield ("tenants", name, "notifications", key, "address"), MISSING()


def _open_without_lists(config: StackConfig) -> Iterator[Finding]:
    """Providers that are open to tenants, without a type or a host that these may have."""
    rules, for_all = config.policies.notifications, PROVIDER in config.tenancy.kinds
    for name, tenant in config.active_tenants.items():
        if not for_all and PROVIDER not in tenant.policies.kinds:
            continue
        path: KeyPath = ("tenancy", "kinds") if for_all else ("tenants", name, "policies", "kinds")
        if not rules.types:
            yield path, PROVIDERS_WITHOUT_LIST(tenant=name, keys="policies.notifications.types")
        if not rules.hosts and not tenant.policies.notifications:
            keys = f"policies.notifications.hosts, or policies.notifications of tenants.{name}"
            yield path, PROVIDERS_WITHOUT_LIST(tenant=name, keys=keys)


def _refused_addresses(config: StackConfig) -> Iterator[Finding]:
    """Addresses that cannot be compared with anything, or that are not encrypted."""
    if not is_in_use(PolicyName.NOTIFICATION_ADDRESSES, config):
        return
    for name, tenant in config.active_tenants.items():
        for key, notification in tenant.notifications.items():
            yield from _refused_address(("tenants", name, "notifications", key), notification, tenant, config)
        for key, notification in config.tenancy.notifications.items():
            yield from _refused_address(("tenancy", "notifications", key), notification, tenant, config)


def _refused_address(
    path: KeyPath, notification: Notification, tenant: TenantConfig, config: StackConfig
) -> Iterator[Finding]:
    secret = notification.secret_address
    if secret is not None and is_sealed(secret):
        return  # Only an update and a preview can read it.
    stated = stated_address(notification, tenant.repository_url)
    address = secret.get_secret_value() if secret is not None else stated
    if (reason := refused_address(config.policies.notifications, notification.type, address)) is not None:
        key = "secretAddress" if secret is not None else "address" if notification.address is not None else "type"
        yield (*path, key), reason


NOTIFICATION_CHECKS: tuple[Check, ...] = (
    _without_controller,
    _names_of_the_platform,
    _names_of_other_secrets,
    _without_repository,
    _open_without_lists,
    _refused_addresses,
)
