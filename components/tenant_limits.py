"""What holds a tenant back in each of its namespaces (threats 20, 21 and 24), as plain manifests.

The tenant can read these objects and change none of them. They are named after it, so that a namespace that is labelled
for another tenant gets other ones: of objects that Kyverno 1.19 has just changed it may put back the state before.
"""

from __future__ import annotations

from components.configuration.models import TenantLimits, TenantNetwork
from components.manifests import Manifest
from components.tenant_objects import TENANT_LABEL, tenant_metadata
from components.tenant_role import flux_resources


def limiting_objects(tenant: str, namespace: str, limits: TenantLimits, network: TenantNetwork) -> list[Manifest]:
    """All of them for one namespace."""
    objects = [flux_quota(tenant, namespace, limits.flux_objects)]
    if limits.quota:
        objects.append(_quota(tenant, f"{tenant}-quota", namespace, dict(limits.quota)))
    if network is TenantNetwork.DEFAULT_DENY:
        objects.append(default_deny(tenant, namespace))
    return objects


def flux_quota(tenant: str, namespace: str, limit: int) -> Manifest:
    """At most so many objects of each Flux kind that a tenant can create, since each costs Flux's controllers time.

    Source: https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count
    """
    return _quota(
        tenant, f"{tenant}-flux-objects", namespace, {f"count/{resource}": str(limit) for resource in flux_resources()}
    )


def default_deny(tenant: str, namespace: str) -> Manifest:
    """Pods talk to the tenant's own namespaces and to DNS, and to nothing else, the artifacts of Flux included.

    Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/
    """
    own = {"namespaceSelector": {"matchLabels": {TENANT_LABEL: tenant}}}
    dns = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": tenant_metadata(tenant, f"{tenant}-default-deny", namespace),
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [own]}],
            "egress": [
                {"to": [own]},
                {"to": [dns], "ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]},
            ],
        },
    }


def _quota(tenant: str, name: str, namespace: str, hard: dict[str, str]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": tenant_metadata(tenant, name, namespace),
        "spec": {"hard": hard},
    }
