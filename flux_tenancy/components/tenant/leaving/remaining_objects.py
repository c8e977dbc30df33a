"""What is left in the namespaces of a tenant that leaves: what goes with them, and what blocks their deletion.

Of a tenant that is leaving, an object that others own goes with its owner and is not counted. Before the sync is
deleted, what it prunes is not counted either. Only kinds and numbers are told: the tenant chooses the names.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/ and the conditions in
pkg/controller/namespace/deletion/status_condition_utils.go of Kubernetes 1.36
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.cluster.client import (
    METADATA_LIST,
    POD,
    NamespacedKind,
    explaining,
    find_object,
    get,
    items,
    read_namespaced_kinds,
)
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.plan import carries_marks
from flux_tenancy.components.tenant.capsule.config import MADE_BY_TENANT
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
        found[name] = {}
        for namespace in dict.fromkeys((*tenant.namespace_names, *read_namespaces(api, name))):
            objects, unread = _read(api, namespace, kinds)
            counts = count_remains([(kind.kind, metadata) for kind, metadata in objects], pruned)
            found[name][namespace] = Remains(counts, tuple(kind.kind for kind in unread))
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


def _read(
    api: client.ApiClient, namespace: str, kinds: Iterable[NamespacedKind]
) -> tuple[list[tuple[NamespacedKind, Mapping[str, Any]]], list[NamespacedKind]]:
    """The metadata of all objects in a namespace, each with its kind, and the kinds that cannot be listed."""
    from kubernetes.client.exceptions import ApiException

    found: list[tuple[NamespacedKind, Mapping[str, Any]]] = []
    unread = []
    with explaining(api):
        for kind in kinds:
            try:
                found += [(kind, each["metadata"]) for each in items(api, kind.path(namespace), accept=METADATA_LIST)]
            except ApiException:
                unread.append(kind)
    return found, unread


# Reasons besides finalizers: an API that does not answer, content that cannot be deleted.
_FAILURES = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
)
_SHOWN = 20
_KUBERNETES = "kubernetes"
# Finalizers that a controller of Kubernetes removes once it has finished, and it may only be slow.
_OF_KUBERNETES = re.compile(r"([a-z.]+\.)?kubernetes\.io/.+|foregroundDeletion|orphan")


@dataclass(frozen=True)
class Held:
    """An object whose deletion finalizers block.

    Attributes:
        resource: its resource as kubectl takes it, e.g. `configmaps` or `widgets.example.com`.
        path: its path in the API.
    """

    resource: str
    name: str
    finalizers: tuple[str, ...]
    path: str = field(default="", compare=False)

    def __str__(self) -> str:
        # A tenant chooses the names, and a Role may have any.
        return f"{self.resource} {printable(self.name)} by {', '.join(self.finalizers)}"


@dataclass(frozen=True)
class NamespaceHolds:
    """What blocks the deletion of a namespace.

    Attributes:
        failures: other reasons that the cluster reports.
        unread: resources that this user may not list, or that the cluster cannot list.
        pods: names of the pods that are left, with finalizers or without.
    """

    namespace: str
    objects: tuple[Held, ...] = ()
    failures: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.objects or self.failures)

    @property
    def only_by_kubernetes(self) -> bool:
        """Whether Kubernetes itself removes all that blocks the deletion, as it does once pods have ended."""
        finalizers = {each for held in self.objects for each in held.finalizers}
        return not self.failures and all(_OF_KUBERNETES.fullmatch(each) for each in finalizers)

    def only_by(self, finalizer: str) -> list[Held]:
        """The objects, if nothing but this one finalizer blocks the deletion; otherwise none."""
        alone = [each for each in self.objects if each.finalizers == (finalizer,)]
        return alone if len(alone) == len(self.objects) and not self.failures else []

    @property
    def listing(self) -> str:
        """Each of them on a line of its own."""
        lines = [str(each) for each in self.objects[:_SHOWN]]
        if (more := len(self.objects) - _SHOWN) > 0:
            lines.append(f"and {more} more")
        if self.pods:
            shown = ", ".join(printable(each) for each in self.pods[:_SHOWN])
            lines.append(f"pods that have not ended: {shown}")
        lines += self.failures
        if self.unread:
            lines.append(f"{', '.join(self.unread)} that cannot be listed")
        return "".join(f"\n  {line}" for line in lines)


def read_namespace_holds(api: client.ApiClient, namespace: str) -> NamespaceHolds | None:
    """What blocks the deletion of a namespace, or None if it is gone.

    The objects themselves are listed: the condition about remaining content is not there while pods end.

    Raises:
        ClusterUnavailable: the cluster does not answer.
    """
    from kubernetes.dynamic.exceptions import NotFoundError

    path = f"/api/v1/namespaces/{namespace}"
    with explaining(api):
        try:
            found = get(api, path)
        except NotFoundError:
            return None
    conditions = {
        condition["type"]: condition.get("message", "")
        for condition in found.get("status", {}).get("conditions", ())
        if condition["status"] == "True"
    }
    failures = [f"{each}: {printable(conditions[each])}" for each in _FAILURES if each in conditions]
    own = tuple(found.get("metadata", {}).get("finalizers") or ())
    if others := [each for each in found.get("spec", {}).get("finalizers") or () if each != _KUBERNETES]:
        failures.append(f"spec.finalizers of the namespace itself: {printable(', '.join(others))}")
    objects, unread = _read(api, namespace, read_namespaced_kinds(api))
    held = [Held("namespaces", namespace, own, path)] if own else []
    held += (
        Held(kind.name, metadata["name"], tuple(metadata["finalizers"]), kind.path(namespace, metadata["name"]))
        for kind, metadata in objects
        if metadata.get("finalizers")
    )
    pods = tuple(metadata["name"] for kind, metadata in objects if kind.kind == POD)
    return NamespaceHolds(namespace, tuple(held), tuple(failures), tuple(kind.name for kind in unread), pods)
