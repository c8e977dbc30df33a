"""The namespaces of a tenant, with what Pod Security and the policies read there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from components.plan.planned import Planned, Stage
from components.tenant.annotations import account_annotations, namespace_annotations
from components.tenant.capsule_names import CAPSULE_TENANT_LABEL
from components.tenant.namespace_config import NamespaceConfig, pod_security_labels
from components.tenant.scope import TenantScope
from components.tenant.tenancy_config import TenancyMode
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import MANAGED_BY_LABEL, MANAGER, TENANT_LABEL


def planned_namespaces(tenant: TenantScope) -> Iterator[Planned]:
    """The tenant's namespaces; its home comes first."""
    config = tenant.config
    for namespace in config.namespaces:
        account = namespace.delegated_to or tenant.account
        annotations = namespace_annotations(config, config.grants_in(namespace.name))
        annotations |= account_annotations(tenant.name, account, tenant.default_account)
        labels = _capsule_labels(tenant, namespace.name)
        yield Planned(Stage.NAMESPACES, _namespace(tenant.name, namespace, annotations, labels))


def _capsule_labels(tenant: TenantScope, namespace: str) -> dict[str, str]:
    """The label by which Capsule owns a namespace; a tenant's home is never Capsule's."""
    owned = tenant.tenancy.mode is TenancyMode.CAPSULE and namespace != tenant.config.home
    return {CAPSULE_TENANT_LABEL: tenant.name} if owned else {}


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
