"""What is left in the namespaces of a tenant that is leaving, which goes when the tenant is removed from the stack.

An object that others own goes with its owner and is not counted. Before the sync is deleted, what it prunes is not
counted either. Only kinds and numbers are told: the tenant chooses the names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.cluster.client import METADATA_LIST, explaining, find_object, items
from flux_tenancy.components.cluster.namespaced_kinds import NamespacedKind, read_namespaced_kinds
from flux_tenancy.components.cluster.ownership import carries_marks
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.tenant.capsule.names import MADE_BY_TENANT
from flux_tenancy.components.vocabulary.names import KUSTOMIZE_API, MANAGED_BY_LABEL, MANAGER, TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.tenant.config import TenantConfig

# Kubernetes deletes these by itself, or creates them in every namespace.
_KUBERNETES_OWN_KINDS = frozenset({"Event", "Endpoints"})
_KUBERNETES_OWN = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
# Set by kustomize-controller and helm-controller on what they apply, and by Helm on its own records.
_APPLIED_LABELS = frozenset({"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"})
_HELM_RECORD = ("owner", "helm")


@dataclass(frozen=True)
class Remains:
    """What is left in a namespace.

    Attributes:
        counts: number of objects by kind.
        unread: kinds that this user may not list, or that the cluster cannot list.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = [f"{count} {printable(kind)}" for kind, count in sorted(self.counts.items())]
        shown += [f"an unknown number of {printable(kind)}" for kind in self.unread]
        return ", ".join(shown) or "nothing"


def read_namespaces(api: client.ApiClient, tenant: str) -> list[str]:
    """The namespaces that go with a tenant: those of the stack, and those that it has made with Capsule.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        found = items(api, "/api/v1/namespaces", labelSelector=f"{TENANT_LABEL}={tenant}", accept=METADATA_LIST)
    metadata = [each["metadata"] for each in found]
    return [each["name"] for each in metadata if each["labels"].get(MANAGED_BY_LABEL) in (MANAGER, MADE_BY_TENANT)]


def read_remains(api: client.ApiClient, tenants: Mapping[str, TenantConfig]) -> dict[str, dict[str, Remains]]:
    """What is left of tenants that are leaving, by tenant and namespace. Raises ClusterUnavailable."""
    kinds = read_namespaced_kinds(api)
    found: dict[str, dict[str, Remains]] = {}
    for name, tenant in tenants.items():
        pruned = _prunes(api, name, tenant)
        namespaces = dict.fromkeys((*tenant.namespace_names, *read_namespaces(api, name)))
        found[name] = {each: _read(api, each, kinds, pruned) for each in namespaces}
    return found


def count_remains(found: Iterable[tuple[str, Mapping[str, Any]]], pruned: bool) -> dict[str, int]:
    """The number of objects by kind, without those that go by themselves.

    Args:
        found: kind and metadata of each object in a namespace.
        pruned: whether a sync is there that will prune what Flux has applied.
    """
    return dict(Counter(kind for kind, metadata in found if not goes_by_itself(kind, metadata, pruned)))


def prunes(sync: Mapping[str, Any]) -> bool:
    """Whether Flux deletes what a Kustomization has applied when the Kustomization is deleted.

    Source: finalize in internal/controller/kustomization_controller.go of kustomize-controller 1.9
    """
    spec = sync["spec"]
    policy = spec.get("deletionPolicy", "MirrorPrune")
    deletes = bool(spec.get("prune")) if policy == "MirrorPrune" else policy != "Orphan"
    return deletes and not spec.get("suspend")


def goes_by_itself(kind: str, metadata: Mapping[str, Any], pruned: bool) -> bool:
    """Whether Kubernetes, Pulumi or an owner deletes an object, or if `pruned`, Flux."""
    if kind in _KUBERNETES_OWN_KINDS or (kind, metadata["name"]) in _KUBERNETES_OWN:
        return True
    if metadata.get("ownerReferences") or carries_marks(dict(metadata)):
        return True
    labels = metadata.get("labels") or {}
    return pruned and (bool(_APPLIED_LABELS & labels.keys()) or _HELM_RECORD in labels.items())


def _prunes(api: client.ApiClient, name: str, tenant: TenantConfig) -> bool:
    metadata = {"namespace": tenant.home, "name": name}
    sync = find_object(api, {"apiVersion": KUSTOMIZE_API, "kind": "Kustomization", "metadata": metadata})
    return sync is not None and prunes(sync)


def _read(api: client.ApiClient, namespace: str, kinds: Iterable[NamespacedKind], pruned: bool) -> Remains:
    from kubernetes.client.exceptions import ApiException

    found: list[tuple[str, Mapping[str, Any]]] = []
    unread = []
    with explaining(api):
        for kind in kinds:
            try:
                listed = items(api, kind.path(namespace), accept=METADATA_LIST)
            except ApiException:
                unread.append(kind.kind)
            else:
                found += [(kind.kind, each["metadata"]) for each in listed]
    return Remains(count_remains(found, pruned), tuple(unread))
