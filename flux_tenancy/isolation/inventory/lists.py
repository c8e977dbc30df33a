"""The objects of a cluster that the inventory looks at, read once for all tenants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from kubernetes import client

from flux_tenancy.components.cluster.adoption import WORKERS
from flux_tenancy.components.cluster.client import collection_of, items
from flux_tenancy.components.config.invariants import present
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest
from flux_tenancy.components.vocabulary.names import KUSTOMIZE_API, TENANT_LABEL
from flux_tenancy.isolation.inventory.intent import NAMESPACE
from flux_tenancy.operations.drift.foreign_grants import EXCEPTION_TYPES

CLUSTER_ROLE = f"kubernetes:{RBAC}/v1:ClusterRole"
ROLE_BINDING = f"kubernetes:{RBAC}/v1:RoleBinding"
CLUSTER_ROLE_BINDING = f"kubernetes:{RBAC}/v1:ClusterRoleBinding"
NETWORK_POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
QUOTA = "kubernetes:core/v1:ResourceQuota"
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
        WEBHOOKS,
        NATIVE_BINDING,
        KYVERNO_POLICY,
        *EXCEPTION_TYPES,
        SYNC,
    }
)

Lists = Mapping[str, Sequence[Manifest]]
"""Objects by Pulumi's type token, each with its kind."""


def read_lists(api: client.ApiClient, more: Iterable[str] = ()) -> Lists:
    """All objects of the inventory's types and of some more; none of a kind that the cluster does not know.

    Raises:
        ApiException: the API server does not let the user see them.
    """
    types = sorted(READ | set(more))

    def read(type_: str) -> list[Manifest]:
        path = present(collection_of(type_), "each is an object of the cluster")
        group_version, _, kind = type_.removeprefix("kubernetes:").rpartition(":")
        version = group_version.removeprefix("core/")
        return [{"apiVersion": version, "kind": kind, **each} for each in items(api, path)]

    with ThreadPoolExecutor(WORKERS) as pool:
        return dict(zip(types, pool.map(read, types), strict=True))


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
