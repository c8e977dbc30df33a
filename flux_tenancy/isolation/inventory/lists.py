"""The types of objects that the inventory looks at, and what of them is a tenant's."""

from __future__ import annotations

from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest
from flux_tenancy.components.vocabulary.names import KUSTOMIZE_API, TENANT_LABEL
from flux_tenancy.isolation.inventory.intent import NAMESPACE
from flux_tenancy.operations.drift.foreign_grants import EXCEPTION_TYPES
from flux_tenancy.operations.drift.lists import Lists

CLUSTER_ROLE = f"kubernetes:{RBAC}/v1:ClusterRole"
ROLE_BINDING = f"kubernetes:{RBAC}/v1:RoleBinding"
CLUSTER_ROLE_BINDING = f"kubernetes:{RBAC}/v1:ClusterRoleBinding"
NETWORK_POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
QUOTA = "kubernetes:core/v1:ResourceQuota"
LIMIT_RANGE = "kubernetes:core/v1:LimitRange"
WEBHOOKS = "kubernetes:admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration"
NATIVE_POLICY = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
NATIVE_BINDING = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding"
KYVERNO_POLICY = "kubernetes:policies.kyverno.io/v1:ValidatingPolicy"
SYNC = f"kubernetes:{KUSTOMIZE_API}:Kustomization"
READ = frozenset(
    {
        NAMESPACE,
        CLUSTER_ROLE,
        ROLE_BINDING,
        CLUSTER_ROLE_BINDING,
        NETWORK_POLICY,
        QUOTA,
        LIMIT_RANGE,
        WEBHOOKS,
        NATIVE_BINDING,
        KYVERNO_POLICY,
        *EXCEPTION_TYPES,
        SYNC,
    }
)


def within(lists: Lists, type_: str, namespace: str) -> list[Manifest]:
    """The objects of a type in a namespace."""
    return [each for each in lists[type_] if each["metadata"].get("namespace") == namespace]


def namespaces_of(lists: Lists, tenant: str) -> dict[str, Manifest]:
    """The namespaces with a tenant's label, by name."""
    return {
        each["metadata"]["name"]: each
        for each in lists[NAMESPACE]
        if each["metadata"].get("labels", {}).get(TENANT_LABEL) == tenant
    }
