"""The objects of one tenant as plain manifests.

Source: `flux create tenant` and `flux create kustomization` of Flux's reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from components.sources.urls import AnySource
from components.sync.decryption_objects import decryption_objects
from components.sync.kustomization import kustomization
from components.sync.notification_objects import NotificationObjects
from components.tenant.annotations import account_annotations, namespace_annotations
from components.tenant.capsule_names import CAPSULE_TENANT_LABEL
from components.tenant.capsule_objects import capsule_owner, capsule_tenant
from components.tenant.capsule_proxy import account_annotations as proxy_annotations
from components.tenant.capsule_proxy import kube_config, proxy_objects
from components.tenant.config import Role, TenantConfig
from components.tenant.delegation import delegation_bindings, delegation_roles
from components.tenant.dependencies import in_order
from components.tenant.grants import granted_bindings, granted_roles
from components.tenant.limits import limiting_objects
from components.tenant.namespace_config import NamespaceConfig, pod_security_labels
from components.tenant.network import network_openings
from components.tenant.notifications import notifications_in, notifications_of
from components.tenant.people import people_bindings
from components.tenant.releases import ReleaseObjects, release_objects
from components.tenant.role import cluster_role_for
from components.tenant.room import room_for
from components.tenant.source_names import source_reference
from components.tenant.tenancy_config import TenancyConfig, TenancyMode
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import MANAGED_BY_LABEL, MANAGER, TENANT_LABEL
from components.vocabulary.object_meta import ObjectMeta


@dataclass(frozen=True)
class TenantObjects:
    """A tenant's objects in the order in which they are created; they are deleted in reverse order.

    The tenant's source is created before the syncs, with the metadata of `source_meta`. `people`, the access of
    persons, depends on the limits alone. `capsule` is empty but in the mode of that name.
    """

    capsule: list[Manifest]
    namespaces: list[Manifest]
    limits: list[Manifest]
    identity: Manifest
    granted_roles: list[Manifest]
    access: list[Manifest]
    decryption: list[Manifest]
    notifications: list[NotificationObjects]
    syncs: list[Manifest]
    people: list[Manifest]
    releases: list[ReleaseObjects]

    @property
    def applied(self) -> list[Manifest]:
        """All syncs and releases, each after those that it depends on."""
        return [*_in_order(self.syncs), *_in_order([each.release for each in self.releases])]


def tenant_objects(
    name: str, config: TenantConfig, tenancy: TenancyConfig, default_account: str = "default"
) -> TenantObjects:
    """All objects of a tenant except those of its source.

    Args:
        name: name of the tenant.
        config: the tenant's configuration.
        tenancy: settings of all tenants.
        default_account: the service account that Flux uses for objects that name none.
    """
    account = service_account_name(name, tenancy, config)
    subject, delegated = _subject(account, config.home), config.delegated_namespaces
    undelegated = [each for each in config.namespace_names if each not in delegated]
    decryption = decryption_objects(source_meta(name, config), config.sync.decryption)
    cluster = kube_config(name, account, tenancy.capsule.proxy)
    return TenantObjects(
        capsule=capsule_tenant(name, config, tenancy, account, default_account),
        namespaces=[
            _namespace(
                name,
                namespace,
                namespace_annotations(config, config.grants_in(namespace.name))
                | account_annotations(name, namespace.delegated_to or account, default_account),
                _capsule_labels(name, config, tenancy, namespace.name),
            )
            for namespace in config.namespaces
        ],
        limits=[
            manifest
            for namespace in config.namespace_names
            for manifest in (
                *limiting_objects(
                    tenant_meta(name, namespace),
                    tenancy.limits,
                    tenancy.network_policy,
                    room_for(config, namespace, len(notifications_of(config, tenancy))),
                ),
                *network_openings(tenant_meta(name, namespace), config.network),
            )
        ],
        identity=service_account(name, config.home, account, proxy_annotations(tenancy.capsule.proxy)),
        granted_roles=[
            *granted_roles(name, undelegated, config.grants),
            *delegation_roles(name, delegated),
        ],
        access=[
            *(role_binding(name, namespace, config.home, config.role, account) for namespace in config.namespace_names),
            *granted_bindings(name, undelegated, config.grants, subject),
            *delegation_bindings(name, delegated, subject),
            *proxy_objects(name, tenant_meta(name, config.home), account, tenancy.capsule.proxy),
            *capsule_owner(name, config, tenancy, account),
        ],
        decryption=decryption.manifests,
        notifications=[
            objects
            for namespace in config.namespace_names
            for objects in notifications_in(tenant_meta(name, namespace), config, tenancy)
        ],
        syncs=[_sync(name, each, config, account, decryption.spec, cluster) for each in config.all_syncs(name)],
        people=[
            binding
            for namespace in config.namespace_names
            for binding in people_bindings(tenant_meta(name, namespace), config.people)
        ],
        releases=[
            release_objects(
                further_source_meta(name, config, each),
                release,
                source_reference(name, config, release.source),
                account,
            )
            for each, release in config.releases.items()
        ],
    )


def service_account_name(tenant: str, tenancy: TenancyConfig, config: TenantConfig | None = None) -> str:
    """The service account that Flux impersonates for a tenant; `config` is None for one that is not listed."""
    own = config.service_account_name if config is not None else None
    return own or tenancy.service_account_name or tenant


def source_meta(tenant: str, config: TenantConfig) -> ObjectMeta:
    """Metadata of the tenant's source and sync and of all objects that belong to them."""
    return tenant_meta(tenant, config.home)


def further_source_meta(tenant: str, config: TenantConfig, name: str) -> ObjectMeta:
    """Metadata of one of the tenant's further sources, or of a release, and of all objects that belong to it."""
    return replace(source_meta(tenant, config), name=name, owner=tenant)


def all_sources(tenant: str, config: TenantConfig) -> Iterator[tuple[ObjectMeta, AnySource]]:
    """Each source of a tenant with the metadata of its objects."""
    if config.source is not None:
        yield source_meta(tenant, config), config.source
    for name, source in config.sources.items():
        yield further_source_meta(tenant, config, name), source


def tenant_meta(tenant: str, namespace: str) -> ObjectMeta:
    """Metadata of the tenant's objects in one of its namespaces."""
    return ObjectMeta(name=tenant, namespace=namespace, labels={TENANT_LABEL: tenant})


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
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": tenant_meta(tenant, namespace).metadata(f"{tenant}-reconciler"),
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": cluster_role_for(role),
        },
        "subjects": [_subject(account, home)],
    }


def _subject(account: str, home: str) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": account, "namespace": home}


def _capsule_labels(tenant: str, config: TenantConfig, tenancy: TenancyConfig, namespace: str) -> dict[str, str]:
    """The label by which Capsule owns a namespace; a tenant's home is never Capsule's."""
    owned = tenancy.mode is TenancyMode.CAPSULE and namespace != config.home
    return {CAPSULE_TENANT_LABEL: tenant} if owned else {}


def _namespace(
    tenant: str, namespace: NamespaceConfig, annotations: Mapping[str, str], labels: Mapping[str, str]
) -> Manifest:
    metadata: Manifest = {
        "name": namespace.name,
        "labels": {
            **namespace.labels,
            TENANT_LABEL: tenant,
            MANAGED_BY_LABEL: MANAGER,
            **pod_security_labels(namespace.pod_security),
            **labels,
        },
        "annotations": {**namespace.annotations, **annotations},
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _sync(
    tenant: str, name: str, config: TenantConfig, account: str, decryption: Manifest, cluster: Manifest
) -> Manifest:
    """One of the tenant's syncs, by the name of its Kustomization."""
    sync = config.all_syncs(tenant)[name]
    manifest = kustomization(
        source_meta(tenant, config).metadata(name),
        sync,
        source=source_reference(tenant, config, sync.source or config.sync.source).reference,
        path=sync.path,
        service_account=account,
        decryption=decryption,
        namespace=sync.target_namespace or config.home,
    )
    manifest["spec"]["deletionPolicy"] = sync.deletion_policy
    if sync.target_namespace is not None:
        manifest["spec"]["targetNamespace"] = sync.target_namespace
    if sync.depends_on:
        manifest["spec"]["dependsOn"] = [{"name": each} for each in sync.depends_on]
    manifest["spec"] |= cluster
    return manifest


def _in_order(manifests: Iterable[Manifest]) -> list[Manifest]:
    by_name = {each["metadata"]["name"]: each for each in manifests}
    needed = {name: [each["name"] for each in one["spec"].get("dependsOn", ())] for name, one in by_name.items()}
    return [by_name[name] for name in in_order(needed)]
