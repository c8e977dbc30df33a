"""The tenant's service account, and its role in each of its namespaces.

Source: `flux create tenant` of Flux's reference
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from flux_tenancy.components.plan.planned import Planned, Stage
from flux_tenancy.components.rbac.subjects import rbac_binding
from flux_tenancy.components.tenant.capsule.proxy import account_annotations
from flux_tenancy.components.tenant.role import Role, cluster_role_for
from flux_tenancy.components.tenant.scope import TenantScope, tenant_meta
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, SOURCE_RESOURCES

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
    annotations = account_annotations(tenant.tenancy.capsule.proxy)
    account = service_account(tenant.name, tenant.config.home, tenant.account, annotations)
    yield Planned(Stage.IDENTITY, account, room=ROOM_AT_HOME)
    for namespace in tenant.config.namespace_names:
        own = role_binding(tenant.name, namespace, tenant.config.home, tenant.config.role, tenant.account)
        yield Planned(Stage.ACCESS, own)


def service_account(
    tenant: str, home: str, account: str, annotations: Mapping[str, str] = MappingProxyType({})
) -> Manifest:
    """The tenant's service account."""
    metadata = tenant_meta(tenant, home).metadata(account)
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata | ({"annotations": dict(annotations)} if annotations else {}),
        # Flux impersonates the account and needs no token; a pod with a token would have the tenant's rights.
        "automountServiceAccountToken": False,
    }


def role_binding(tenant: str, namespace: str, home: str, role: Role, account: str) -> Manifest:
    """Binds the service account in `home` to the tenant's role in `namespace`."""
    metadata = tenant_meta(tenant, namespace).metadata(f"{tenant}-reconciler")
    subject = {"kind": "ServiceAccount", "name": account, "namespace": home}
    return rbac_binding("RoleBinding", metadata, cluster_role_for(role), [subject])
