"""What blocks the deletion of a namespace, as the cluster itself reports it.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/ and the conditions in
pkg/controller/namespace/deletion/status_condition_utils.go of Kubernetes 1.36
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from components.cluster.client import explaining, get, items
from components.cluster.unreadable import if_readable
from components.config.printable import printable

if TYPE_CHECKING:
    from kubernetes import client

# How the message of the condition NamespaceContentRemaining lists each resource.
_REMAINING = re.compile(r"([a-z0-9-]+)\.([a-z0-9.-]*) has \d+ resource instances")
# Other reasons: an API that does not answer, content that cannot be deleted.
_FAILURES = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
)
# A tenant chooses the names, and a Role may have any name: one that a shell would interpret is not put into a command,
# and one that a terminal would interpret is escaped.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_SHOWN = 20
_RELEASE = '{"metadata":{"finalizers":null}}'


@dataclass(frozen=True)
class Held:
    """An object whose deletion finalizers block.

    Attributes:
        resource: its resource as kubectl takes it, e.g. `configmaps` or `widgets.example.com`.
        name: its name.
        finalizers: the finalizers.
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
        namespace: its name.
        objects: the objects with finalizers.
        failures: other reasons that the cluster reports.
    """

    namespace: str
    objects: tuple[Held, ...] = ()
    failures: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.objects or self.failures)

    def only_by(self, finalizer: str) -> list[Held]:
        """The objects, if nothing but this one finalizer blocks the deletion; otherwise none."""
        alone = [each for each in self.objects if each.finalizers == (finalizer,)]
        return alone if len(alone) == len(self.objects) and not self.failures else []

    def listing(self, context: str | None) -> str:
        """Each of them on a line of its own, with the command that removes the finalizers.

        Args:
            context: kubectl's context for the cluster; None for the current one.
        """
        at = f" --context {context}" if context else ""
        lines = [_line(each, self.namespace, at) for each in self.objects[:_SHOWN]]
        if (more := len(self.objects) - _SHOWN) > 0:
            lines.append(f"and {more} more")
        return "".join(f"\n  {line}" for line in (*lines, *self.failures))


def read_namespace_holds(api: client.ApiClient, namespace: str) -> NamespaceHolds | None:
    """What blocks the deletion of a namespace, or None if it is gone.

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
    remaining = _REMAINING.findall(conditions.get("NamespaceContentRemaining", ""))
    failures = [f"{each}: {printable(conditions[each])}" for each in _FAILURES if each in conditions]
    objects: list[Held] = []
    for resource, group in remaining:
        held = if_readable(partial(_held, api, namespace, resource, group), None)
        if held is None:
            failures.append(f"{resource} that this user may not list")
        objects += held or ()
    return NamespaceHolds(namespace, tuple(objects), tuple(failures))


def _held(api: client.ApiClient, namespace: str, resource: str, group: str) -> list[Held]:
    with explaining(api):
        root = f"/apis/{_version(api, group)}" if group else "/api/v1"
        path = f"{root}/namespaces/{namespace}/{resource}"
        found = [each["metadata"] for each in items(api, path)]
    called = f"{resource}.{group}" if group else resource
    return [
        Held(called, each["name"], tuple(each["finalizers"]), f"{path}/{quote(each['name'], safe='')}")
        for each in found
        if each.get("finalizers")
    ]


def _version(api: client.ApiClient, group: str) -> str:
    version: str = get(api, f"/apis/{group}")["preferredVersion"]["groupVersion"]
    return version


def _line(held: Held, namespace: str, at: str) -> str:
    by = ", ".join(held.finalizers)
    if not _PLAIN.fullmatch(held.name):
        return f"{held.resource} {json.dumps(held.name)} by {by}: take these out of its metadata.finalizers"
    command = f"kubectl patch {held.resource} {held.name} -n {namespace}{at} --type=merge -p '{_RELEASE}'"
    return f"{held.resource} {held.name} by {by}: {command}"
