"""API groups that cannot be granted even if the stack lists them (`tenancy.grantableGroups`).

Their objects decide what tenants may do. The tenant role lists what it allows of Kubernetes' and Flux's own groups
(`components.tenant.role`); whatever it leaves out there is withheld on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping

# Source: the groups of k8s.io/api 1.36, of apiextensions-apiserver and of kube-aggregator.
_KUBERNETES = frozenset(
    f"{name}.k8s.io"
    for name in (
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "imagepolicy",
        "internal.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    )
)
# By the end of the group's name.
_OWNERS: Mapping[str, str] = {
    "fluxcd.io": "Flux",
    "fluxcd.controlplane.io": "Flux",
    "kyverno.io": "Kyverno",
    "wgpolicyk8s.io": "Kyverno",
    "openreports.io": "Kyverno",
    "gatekeeper.sh": "Gatekeeper",
    "capsule.clastix.io": "Capsule",
    "projectcapsule.dev": "Capsule",
    "policy.networking.k8s.io": "the cluster's network",
    "antrea.io": "the cluster's network",
    "cilium.io": "the cluster's network",
    "k8s.ovn.org": "the cluster's network",
    "projectcalico.org": "the cluster's network",
}


def owner_of(group: str) -> str | None:
    """Whose an API group is that cannot be granted; None for any other, e.g. `cert-manager.io`."""
    if "." not in group or group in _KUBERNETES:
        return "Kubernetes"
    return next((owner for end, owner in _OWNERS.items() if group == end or group.endswith(f".{end}")), None)
