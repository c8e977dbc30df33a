"""What lets Flux's controllers impersonate the service accounts of tenants and of the platform, and read Secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.installs.flux.controller_rights import (
    IMPERSONATION,
    impersonation_objects,
    platform_meta,
    token_objects,
)
from flux_tenancy.components.plan.planned import Planned, Stage
from flux_tenancy.components.sync.decryption import decryption_account
from flux_tenancy.components.tenant.kinds import RECEIVER
from flux_tenancy.components.tenant.scope import all_sources, service_account_name, tenant_meta
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import FLUX_NAMESPACE, LANED, account_of

if TYPE_CHECKING:
    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.installs.flux.config import FluxConfig
    from flux_tenancy.components.tenant.config import TenantConfig
    from flux_tenancy.components.tenant.tenancy_config import TenancyConfig
    from flux_tenancy.components.vocabulary.object_meta import ObjectMeta

_RIGHTS = ("rules", "roleRef", "subjects")
_ACCOUNT_OF_LANE = re.compile(f"^({'|'.join(map(account_of, LANED))})-.*$")


def impersonations(
    flux: FluxConfig, tenants: Mapping[str, TenantConfig], tenancy: TenancyConfig
) -> dict[str, list[Manifest]]:
    """The objects by namespace that let the controllers do so.

    Controllers with the rights of the release need none, except for tokens since Flux 2.10. Flux's own namespace is not
    included: FluxInstall creates it with everything that its controllers need.
    """
    tokens = token_accounts(tenants, tenancy)
    if not flux.impersonates:
        granted = {
            namespace: token_objects(tenant_meta(name, namespace), tokens[namespace], flux)
            for name, tenant in tenants.items()
            for namespace in tenant.namespace_names
        }
        return {namespace: objects for namespace, objects in granted.items() if objects}
    places: dict[str, ObjectMeta] = {}
    lanes: dict[str, str] = {}
    accounts: dict[str, list[str]] = {}
    open_to_receivers: set[str] = set()
    webhooks: dict[str, list[str]] = {}
    for name, tenant in tenants.items():
        for namespace in tenant.namespaces:
            places[namespace.name] = tenant_meta(name, namespace.name)
            lanes[namespace.name] = flux.lane_of(tenant.lane)
            accounts[namespace.name] = [namespace.delegated_to or service_account_name(name, tenancy, tenant)]
        if RECEIVER in (*tenancy.kinds, *tenant.policies.kinds):
            open_to_receivers.update(tenant.namespace_names)
        webhooks[tenant.home] = [
            meta.name
            for meta, source in all_sources(name, tenant)
            if isinstance(source, GitSource) and source.webhook is not None
        ]
    for entry in flux.impersonate:
        if entry.namespace == FLUX_NAMESPACE:
            continue
        places.setdefault(entry.namespace, platform_meta(entry.namespace))
        accounts.setdefault(entry.namespace, []).extend(entry.service_accounts)
    return {
        namespace: impersonation_objects(
            meta,
            accounts[namespace],
            flux,
            lane=lanes.get(namespace, ""),
            receivers=namespace in open_to_receivers,
            webhooks=webhooks.get(namespace, ()),
            token_accounts=tokens.get(namespace, ()),
        )
        for namespace, meta in places.items()
    }


def token_accounts(tenants: Mapping[str, TenantConfig], tenancy: TenancyConfig) -> dict[str, list[str]]:
    """By namespace, the service accounts with which objects there log in to a cloud, a key service or the proxy."""
    found = {name: list(tenant.token_accounts) for tenant in tenants.values() for name in tenant.namespace_names}
    proxy = tenancy.capsule.proxy
    for name, tenant in tenants.items():
        sources = (getattr(source, "service_account_name", None) for _, source in all_sources(name, tenant))
        at_home = [account for account in sources if account is not None]
        decryption = tenant.sync.decryption
        if decryption is not None and decryption.workload_identity is not None:
            at_home.append(decryption_account(name))
        if proxy is not None and proxy.address is not None:
            at_home.append(service_account_name(name, tenancy, tenant))
        found[tenant.home] += at_home
    return found


def planned_rights(namespaces: Iterable[str], rights: Mapping[str, Sequence[Manifest]]) -> Iterator[Planned]:
    """What lets Flux's controllers act in namespaces.

    In namespaces that already exist, it is created and changed before the controllers. So when an older installation
    is updated to controllers that need these Roles, every sync keeps working. Such objects cannot depend on their
    namespace, which comes after the controllers; from the next update on they do, and are deleted before it.

    Args:
        rights: the objects by namespace (`impersonations`).
    """
    for namespace in namespaces:
        for manifest in rights.get(namespace, ()):
            impersonating = manifest["metadata"]["name"] == IMPERSONATION
            # They count among the tenant's own objects.
            yield Planned(Stage.ACCESS if impersonating else Stage.READING, manifest, room={}, beside=True)


def is_granted(manifest: Manifest, state: State) -> bool:
    """Whether an object with rights is in the state with the same rights, or with those of another lane.

    When a tenant changes its lane, the controllers of the former one keep their rights until those of the other are
    available.
    """
    outputs = state.resources.get((resource_type(manifest), name_of(manifest)), {})
    return all(_in_any_lane(outputs.get(key)) == _in_any_lane(manifest[key]) for key in _RIGHTS if key in manifest)


def _in_any_lane(rights: Any) -> Any:
    """Rights as those of the platform's controllers, if they are those of a lane's."""
    if not isinstance(rights, list):
        return rights
    return [each | {"name": _ACCOUNT_OF_LANE.sub(r"\1", each["name"])} if "name" in each else each for each in rights]
