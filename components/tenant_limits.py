"""What holds a tenant back in each of its namespaces (threats 20, 21 and 24), as plain manifests.

The tenant can read these objects and change none of them. They are named after it, so that a namespace that is labelled
for another tenant gets other ones: of objects that Kyverno 1.19 has just changed it may put back the state before.
"""

from __future__ import annotations

from components.configuration.models import TenantConfig, TenantLimits, TenantNetwork
from components.manifests import Manifest
from components.place import Place
from components.tenant_role import flux_resources

_FLUX_OBJECTS = "flux-objects"


def limiting_objects(place: Place, limits: TenantLimits, network: TenantNetwork) -> list[Manifest]:
    """All of them for one namespace.

    Args:
        place: the namespace, with the name of its tenant and the label that all of the tenant's namespaces have.
        limits: how much the tenant may have there.
        network: what its Pods may talk to.
    """
    objects = [_flux_quota(place, limits.flux_objects)]
    if limits.quota:
        objects.append(_quota(place, "quota", dict(limits.quota)))
    if network is TenantNetwork.DEFAULT_DENY:
        objects.append(_default_deny(place))
    return objects


def _flux_quota(place: Place, limit: int) -> Manifest:
    """At most so many objects of each Flux kind that a tenant can create, since each costs Flux's controllers time.

    Source: https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count
    """
    return _quota(place, _FLUX_OBJECTS, {f"count/{resource}": str(limit) for resource in flux_resources()})


def flux_quota_name(tenant: str) -> str:
    """What the quota of Flux's objects is called in each of a tenant's namespaces."""
    return f"{tenant}-{_FLUX_OBJECTS}"


def counted_for(config: TenantConfig) -> list[str]:
    """What that quota calls the kinds of objects that the platform itself makes for a tenant."""
    kinds = ["gitrepositories.source", "kustomizations.kustomize"]
    if config.source.webhook is not None:
        kinds.append("receivers.notification")
    return [f"count/{kind}.toolkit.fluxcd.io" for kind in kinds]


def _default_deny(place: Place) -> Manifest:
    """Pods talk to the tenant's own namespaces and to DNS, and to nothing else, the artifacts of Flux included.

    Source: https://kubernetes.io/docs/concepts/services-networking/network-policies/
    """
    own = {"namespaceSelector": {"matchLabels": dict(place.labels)}}
    dns = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": place.metadata(f"{place.name}-default-deny"),
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


def _quota(place: Place, name: str, hard: dict[str, str]) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": place.metadata(f"{place.name}-{name}"),
        "spec": {"hard": hard},
    }
