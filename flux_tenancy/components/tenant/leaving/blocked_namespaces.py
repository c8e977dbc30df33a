"""What blocks the deletion of a namespace, and what is removed by force: access, Flux's finalizers, pods.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/ and the conditions in
pkg/controller/namespace/deletion/status_condition_utils.go of Kubernetes 1.36
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.cluster.client import METADATA_LIST, ask, explaining, get, items, patch_current
from flux_tenancy.components.cluster.namespaced_kinds import POD, read_namespaced_kinds
from flux_tenancy.components.cluster.readable import if_readable
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.vocabulary.manifests import RBAC_API, Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client

# Reasons besides finalizers: an API that does not answer, content that cannot be deleted.
_FAILURES = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
)
# A tenant chooses the names, and a Role may have any name: one that a shell would interpret is not put into a command,
# and one that a terminal would interpret is escaped.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_SHOWN = 20
_PODS, _NAMESPACES = "pods", "namespaces"
_KUBERNETES = "kubernetes"
# Finalizers that a controller of Kubernetes removes once it has finished, and it may only be slow.
_OF_KUBERNETES = re.compile(r"([a-z.]+\.)?kubernetes\.io/.+|foregroundDeletion|orphan")
_RELEASE = '{"metadata":{"finalizers":null}}'


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


@dataclass(frozen=True)
class NamespaceHolds:
    """What blocks the deletion of a namespace.

    Attributes:
        failures: other reasons that the cluster reports.
        unread: resources that this user may not list.
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

    def listing(self, context: str | None) -> str:
        """Each of them on a line of its own, with the command that removes the finalizers.

        Args:
            context: kubectl's context for the cluster; None for the current one.
        """
        at = f" --context {quote(context)}" if context else ""
        lines = [_line(each, self.namespace, at) for each in self.objects[:_SHOWN]]
        if (more := len(self.objects) - _SHOWN) > 0:
            lines.append(f"and {more} more")
        held = {each.name for each in self.objects if each.resource == _PODS}
        ending = [printable(each) for each in self.pods if each not in held]
        pods = [f"pods that have not ended: {', '.join(ending[:_SHOWN])}"] if ending else []
        unread = [f"{', '.join(self.unread)} that this user may not list"] if self.unread else []
        return "".join(f"\n  {line}" for line in (*lines, *pods, *self.failures, *unread))


def read_namespace_holds(api: client.ApiClient, namespace: str) -> NamespaceHolds | None:
    """What blocks the deletion of a namespace, or None if it is gone.

    The objects themselves are listed: the condition about remaining content is not there while pods end.

    Raises:
        ClusterUnavailable: the cluster does not answer.
    """
    from kubernetes.dynamic.exceptions import NotFoundError

    with explaining(api):
        try:
            found = get(api, f"/api/v1/namespaces/{namespace}")
        except NotFoundError:
            return None
    conditions = {
        condition["type"]: condition.get("message", "")
        for condition in found.get("status", {}).get("conditions", ())
        if condition["status"] == "True"
    }
    failures = [f"{each}: {printable(conditions[each])}" for each in _FAILURES if each in conditions]
    own = tuple(found.get("metadata", {}).get("finalizers") or ())
    objects = [Held(_NAMESPACES, namespace, own, f"/api/v1/namespaces/{namespace}")] if own else []
    if others := [each for each in found.get("spec", {}).get("finalizers") or () if each != _KUBERNETES]:
        failures.append(f"spec.finalizers of the namespace itself: {printable(', '.join(others))}")
    unread: list[str] = []
    pods: list[str] = []
    for kind in read_namespaced_kinds(api):
        remaining = if_readable(partial(_remaining, api, kind.path(namespace)), None)
        if remaining is None:
            unread.append(kind.name)
            continue
        pods += [each["name"] for each in remaining] if kind.kind == POD else []
        objects += (
            Held(kind.name, each["name"], tuple(each["finalizers"]), kind.path(namespace, each["name"]))
            for each in remaining
            if each.get("finalizers")
        )
    return NamespaceHolds(namespace, tuple(objects), tuple(failures), tuple(unread), tuple(pods))


def _remaining(api: client.ApiClient, path: str) -> list[dict[str, Any]]:
    with explaining(api):
        return [each["metadata"] for each in items(api, path, accept=METADATA_LIST)]


def _line(held: Held, namespace: str, at: str) -> str:
    by = ", ".join(held.finalizers)
    if not _PLAIN.fullmatch(held.name):
        return f"{held.resource} {json.dumps(held.name)} by {by}: take these out of its metadata.finalizers"
    within = "" if held.resource == _NAMESPACES else f" -n {namespace}"
    command = f"kubectl patch {held.resource} {held.name}{within}{at} --type=merge -p '{_RELEASE}'"
    return f"{held.resource} {held.name} by {by}: {command}"


FLUX_FINALIZER = "finalizers.fluxcd.io"
_RBAC = f"/apis/{RBAC_API}"


@dataclass(frozen=True)
class DeletedSync:
    """A tenant's Kustomization or HelmRelease that is being deleted.

    Attributes:
        account: the service account as which Flux deletes what it has applied.
    """

    tenant: str
    namespace: str
    name: str
    account: str

    @staticmethod
    def of(inputs: Any) -> DeletedSync:
        """The sync that was registered with these properties."""
        metadata = inputs["metadata"]
        tenant = metadata["labels"][TENANT_LABEL]
        return DeletedSync(tenant, metadata["namespace"], metadata["name"], inputs["spec"]["serviceAccountName"])


def bindings_of(api: client.ApiClient, tenant: str) -> list[Manifest]:
    """The role bindings that the platform has created for a tenant, which cannot set the label itself.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        return items(api, f"{_RBAC}/rolebindings", labelSelector=f"{TENANT_LABEL}={tenant}")


def remove_access(api: client.ApiClient, sync: DeletedSync) -> None:
    """Delete a tenant's role bindings and the service account of its sync. Raises ClusterUnavailable."""
    with explaining(api):
        for each in (binding["metadata"] for binding in bindings_of(api, sync.tenant)):
            _delete(api, f"{_RBAC}/namespaces/{each['namespace']}/rolebindings/{each['name']}")
        _delete(api, f"/api/v1/namespaces/{sync.namespace}/serviceaccounts/{sync.account}")


def remove_finalizer(api: client.ApiClient, path: str) -> None:
    """Remove Flux's finalizer from an object that is being deleted; other finalizers stay.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    from kubernetes.dynamic.exceptions import NotFoundError

    with explaining(api), suppress(NotFoundError):
        patch_current(api, path, _without_finalizer)


def end_pods(api: client.ApiClient, namespace: str) -> None:
    """Delete the pods of a namespace that is being deleted at once, without the time that they asked for to end.

    Finalizers of pods stay. Raises ClusterUnavailable.
    """
    with explaining(api):
        ask(api, "DELETE", f"/api/v1/namespaces/{namespace}/pods", gracePeriodSeconds="0")


def _without_finalizer(found: Mapping[str, Any]) -> Manifest:
    """The merge patch; with the version, a finalizer that somebody else has just added is a conflict and not lost."""
    metadata = found["metadata"]
    rest = [each for each in metadata.get("finalizers", ()) if each != FLUX_FINALIZER]
    return {"metadata": {"finalizers": rest, "resourceVersion": metadata.get("resourceVersion")}}


def _delete(api: client.ApiClient, path: str) -> None:
    from kubernetes.dynamic.exceptions import NotFoundError

    with suppress(NotFoundError):
        ask(api, "DELETE", path, propagationPolicy="Background")
