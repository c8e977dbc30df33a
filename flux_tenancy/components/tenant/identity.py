"""The tenant's service account and its role in each namespace, and what lets Flux's controllers impersonate it.

Source: `flux create tenant` of Flux's reference
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.installs.flux.controller_rights import (
    IMPERSONATION,
    impersonation_objects,
    platform_meta,
    token_objects,
)
from flux_tenancy.components.plan import Planned, Stage
from flux_tenancy.components.rbac.subjects import rbac_binding, rbac_role, rbac_rule
from flux_tenancy.components.sync.decryption import decryption_account
from flux_tenancy.components.tenant.capsule.config import ADDON_ANNOTATION
from flux_tenancy.components.tenant.role import RECEIVER, Role, cluster_role_for
from flux_tenancy.components.tenant.scope import TenantScope, all_sources, service_account_name, tenant_meta
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import (
    FLUX_NAMESPACE,
    GIT_REPOSITORY,
    LANED,
    SOURCE_RESOURCES,
    TENANT_LABEL,
    account_of,
)

if TYPE_CHECKING:
    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.installs.flux.config import FluxConfig
    from flux_tenancy.components.tenant.config import TenancyConfig, TenantConfig


# A quota keeps room for the tenant's own repository and sync, whether it has them or not, so that it may get them
# later: at most four Secrets, each twice while it is replaced. The account exists twice while it is renamed.
ROOM_AT_HOME = {
    f"count/{SOURCE_RESOURCES[GIT_REPOSITORY]}.source.toolkit.fluxcd.io": 1,
    "count/kustomizations.kustomize.toolkit.fluxcd.io": 1,
    "count/serviceaccounts": 2,
    "count/secrets": 8,
}


def planned_identity(tenant: TenantScope) -> Iterator[Planned]:
    """The service account in the tenant's home, and its binding in each namespace."""
    account = service_account(tenant.name, tenant.config.home, tenant.account)
    proxy = tenant.tenancy.capsule.proxy
    if proxy is not None and proxy.addon:
        account["metadata"] |= {"annotations": {ADDON_ANNOTATION: "true"}}
    yield Planned(Stage.IDENTITY, account, room=ROOM_AT_HOME)
    for namespace in tenant.config.namespace_names:
        own = role_binding(tenant.name, namespace, tenant.config.home, tenant.config.role, tenant.account)
        yield Planned(Stage.ACCESS, own)


def service_account(tenant: str, home: str, account: str) -> Manifest:
    """The tenant's service account."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": tenant_meta(tenant, home).metadata(account),
        # Flux impersonates the account and needs no token; a pod with a token would have the tenant's rights.
        "automountServiceAccountToken": False,
    }


def role_binding(tenant: str, namespace: str, home: str, role: Role, account: str) -> Manifest:
    """Binds the service account in `home` to the tenant's role in `namespace`."""
    metadata = tenant_meta(tenant, namespace).metadata(f"{tenant}-reconciler")
    subject = {"kind": "ServiceAccount", "name": account, "namespace": home}
    return rbac_binding("RoleBinding", metadata, cluster_role_for(role), [subject])


# Neither `bind` nor `escalate`, which are for more rights than one's own.
_DELEGATING = ("create", "delete", "get", "list", "patch", "update", "watch")


def delegation_name(tenant: str) -> str:
    """The name of the Role and RoleBinding by which a tenant gives rights to its teams."""
    return f"{tenant}-delegation"


def planned_delegation(tenant: TenantScope) -> Iterator[Planned]:
    """In each namespace that is delegated to a team, the Role to create roles and bindings there, bound to the tenant.

    Flux applies everything there as the team's service account, which the tenant creates and binds. Two bounds keep the
    team below the tenant: Kubernetes refuses roles and bindings with more rights than the tenant has in this namespace,
    and the policies refuse any other account here.

    Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
    """
    name, rule = delegation_name(tenant.name), rbac_rule(RBAC, ("rolebindings", "roles"), _DELEGATING)
    for namespace in tenant.config.delegated_namespaces:
        metadata = {"name": name, "namespace": namespace, "labels": {TENANT_LABEL: tenant.name}}
        yield Planned(Stage.CONTENT, rbac_role("Role", metadata, [rule]))
        bound = rbac_binding("RoleBinding", metadata, name, [tenant.subject], role_kind="Role")
        yield Planned(Stage.ACCESS, bound)


_RIGHTS = ("rules", "roleRef", "subjects")
_ACCOUNT_OF_LANE = re.compile(f"^({'|'.join(map(account_of, LANED))})-.*$")


def impersonations(
    flux: FluxConfig, tenants: Mapping[str, TenantConfig], tenancy: TenancyConfig
) -> dict[str, list[Manifest]]:
    """The objects by namespace that let the controllers do so.

    Controllers with the rights of the release need none, except for tokens since Flux 2.10. Flux's own namespace is not
    included: FluxInstall creates it with everything that its controllers need.
    """
    tokens = _token_accounts(tenants, tenancy)
    if not flux.impersonates:
        granted = {
            namespace: token_objects(tenant_meta(name, namespace), tokens[namespace], flux)
            for name, tenant in tenants.items()
            for namespace in tenant.namespace_names
        }
        return {namespace: objects for namespace, objects in granted.items() if objects}
    of_platform: dict[str, list[str]] = defaultdict(list)
    for entry in flux.impersonate:
        if entry.namespace != FLUX_NAMESPACE:
            of_platform[entry.namespace] += entry.service_accounts
    found: dict[str, list[Manifest]] = {}
    for name, tenant in tenants.items():
        account = service_account_name(name, tenancy, tenant)
        receivers = RECEIVER in (*tenancy.kinds, *tenant.policies.kinds)
        git = [(meta.name, each) for meta, each in all_sources(name, tenant) if isinstance(each, GitSource)]
        webhooks = [source for source, each in git if each.webhook is not None]
        for namespace in tenant.namespaces:
            found[namespace.name] = impersonation_objects(
                tenant_meta(name, namespace.name),
                [namespace.delegated_to or account, *of_platform.pop(namespace.name, ())],
                flux,
                lane=flux.lane_of(tenant.lane),
                receivers=receivers,
                webhooks=webhooks if namespace.name == tenant.home else (),
                token_accounts=tokens[namespace.name],
            )
    return found | {
        namespace: impersonation_objects(platform_meta(namespace), accounts, flux)
        for namespace, accounts in of_platform.items()
    }


def _token_accounts(tenants: Mapping[str, TenantConfig], tenancy: TenancyConfig) -> dict[str, list[str]]:
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
