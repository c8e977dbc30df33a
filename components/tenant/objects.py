"""The objects of one tenant as plain manifests.

Source: `flux create tenant` and `flux create kustomization` of Flux's reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components.cluster.manifests import Manifest
from components.cluster.object_meta import ObjectMeta
from components.sync.decryption_objects import decryption_objects
from components.sync.kustomization import kustomization
from components.sync.names import MANAGED_BY_LABEL, MANAGER, TENANT_LABEL
from components.tenant.annotations import account_annotations, namespace_annotations
from components.tenant.config import NamespaceConfig, PodSecurity, Role, TenancyConfig, TenantConfig
from components.tenant.limits import limiting_objects, room_for
from components.tenant.role import cluster_role_for


@dataclass(frozen=True)
class TenantObjects:
    """A tenant's objects in the order in which they are created; they are deleted in reverse order.

    The tenant's source is created before the sync, with the metadata of `source_meta`.
    """

    namespaces: list[Manifest]
    limits: list[Manifest]
    identity: Manifest
    access: list[Manifest]
    decryption: list[Manifest]
    sync: Manifest


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
    annotations = namespace_annotations(config) | account_annotations(name, account, default_account)
    decryption = decryption_objects(source_meta(name, config), config.sync.decryption)
    return TenantObjects(
        namespaces=[_namespace(name, namespace, annotations) for namespace in config.namespaces],
        limits=[
            manifest
            for namespace in config.namespace_names
            for manifest in limiting_objects(
                tenant_meta(name, namespace), tenancy.limits, tenancy.network_policy, room_for(config, namespace)
            )
        ],
        identity=service_account(name, config.home, account),
        access=[
            role_binding(name, namespace, config.home, config.role, account) for namespace in config.namespace_names
        ],
        decryption=decryption.standing,
        sync=_sync(name, config, account, decryption.spec),
    )


def service_account_name(tenant: str, tenancy: TenancyConfig, config: TenantConfig | None = None) -> str:
    """The service account that Flux impersonates for a tenant; `config` is None for one that is not listed."""
    own = config.service_account_name if config is not None else None
    return own or tenancy.service_account_name or tenant


def source_meta(tenant: str, config: TenantConfig) -> ObjectMeta:
    """Metadata of the tenant's source and sync and of all objects that belong to them."""
    return tenant_meta(tenant, config.home)


def tenant_meta(tenant: str, namespace: str) -> ObjectMeta:
    """Metadata of the tenant's objects in one of its namespaces."""
    return ObjectMeta(name=tenant, namespace=namespace, labels={TENANT_LABEL: tenant})


def pod_security_labels(level: PodSecurity) -> dict[str, str]:
    """Labels of a namespace that enforce a Pod Security Standard and warn about violations.

    Source: https://kubernetes.io/docs/concepts/security/pod-security-admission/
    """
    return {"pod-security.kubernetes.io/enforce": level.value, "pod-security.kubernetes.io/warn": level.value}


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
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": tenant_meta(tenant, namespace).metadata(f"{tenant}-reconciler"),
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": cluster_role_for(role),
        },
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": home}],
    }


def _namespace(tenant: str, namespace: NamespaceConfig, annotations: Mapping[str, str]) -> Manifest:
    metadata: Manifest = {
        "name": namespace.name,
        "labels": {
            **namespace.labels,
            TENANT_LABEL: tenant,
            MANAGED_BY_LABEL: MANAGER,
            **pod_security_labels(namespace.pod_security),
        },
        "annotations": {**namespace.annotations, **annotations},
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _sync(tenant: str, config: TenantConfig, account: str, decryption: Manifest) -> Manifest:
    sync = config.sync
    manifest = kustomization(
        source_meta(tenant, config).metadata(tenant),
        sync,
        path=sync.path,
        service_account=account,
        decryption=decryption,
    )
    manifest["spec"]["deletionPolicy"] = sync.deletion_policy
    if sync.target_namespace is not None:
        manifest["spec"]["targetNamespace"] = sync.target_namespace
    return manifest
