"""How much of a tenant's quotas the platform's own objects take, so that the tenant has the rest to itself."""

from __future__ import annotations

from collections import Counter

from components.sources.config import ExternalArtifactSource
from components.tenant.config import TenantConfig
from components.tenant.limits import SYNCS
from components.vocabulary.names import SOURCE_RESOURCES

_ACCOUNTS, _SECRETS = "count/serviceaccounts", "count/secrets"
_ROLES, _BINDINGS = "count/roles.rbac.authorization.k8s.io", "count/rolebindings.rbac.authorization.k8s.io"
_RECEIVERS = "count/receivers.notification.toolkit.fluxcd.io"

# Number of objects that Kubernetes and the platform create in each namespace.
_IN_EACH = {"count/configmaps": 1, _ACCOUNTS: 1, _BINDINGS: 1}
# Number of objects that the platform also creates in a tenant's home: at most four Secrets, each twice while it is
# replaced.
_AT_HOME = {"count/gitrepositories.source.toolkit.fluxcd.io": 1, SYNCS: 1, _ACCOUNTS: 2, _SECRETS: 8}
# At most login, certificates, proxy and public keys, each twice while it is replaced.
_SECRETS_OF_A_SOURCE = 8
# For each notification; its Secret twice while it is replaced.
_FOR_NOTIFICATION = {
    "count/alerts.notification.toolkit.fluxcd.io": 1,
    "count/providers.notification.toolkit.fluxcd.io": 1,
    _SECRETS: 2,
}


def room_for(config: TenantConfig | None, namespace: str, notifications: int = 0) -> dict[str, int]:
    """The number of objects that Kubernetes and the platform create in a namespace, by a quota's resource names.

    Args:
        config: the tenant; None for one that the platform's own repository provisions.
        namespace: one of its namespaces.
        notifications: number of notifications about the tenant (`components.tenant.notifications`).
    """
    room = Counter(_IN_EACH)
    if config is None or namespace == config.home:
        room.update(_AT_HOME)
    if config is not None:
        room.update(_for_access(config, namespace))
        if namespace == config.home:
            room.update(_for_content(config))
    room.update({resource: notifications * count for resource, count in _FOR_NOTIFICATION.items()})
    # Without the resources of which the platform needs none.
    return dict(+room)


def _for_access(config: TenantConfig, namespace: str) -> dict[str, int]:
    """Roles and bindings of grants, of a team below the tenant, and of people."""
    roles = any(grant.rules for grant in config.grants_in(namespace)) + (namespace in config.delegated_namespaces)
    people = bool(config.people.viewers) + bool(config.people.developers)
    return {_ROLES: roles, _BINDINGS: roles + people}


def _for_content(config: TenantConfig) -> Counter[str]:
    """Webhooks, further sources and secret values of releases."""
    room = Counter({_RECEIVERS: sum(source.webhook is not None for source in config.git_sources.values())})
    for each in config.sources.values():
        if not isinstance(each, ExternalArtifactSource):
            room.update(
                {f"count/{SOURCE_RESOURCES[each.kind]}.source.toolkit.fluxcd.io": 1, _SECRETS: _SECRETS_OF_A_SOURCE}
            )
    # Twice while it is replaced.
    room[_SECRETS] += 2 * sum(bool(each.secret_values) for each in config.releases.values())
    return room
