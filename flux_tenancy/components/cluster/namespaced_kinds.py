"""The kinds of namespaced objects that a cluster has, by its own account.

Source: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from flux_tenancy.components.cluster.client import ask, explaining

if TYPE_CHECKING:
    from kubernetes import client

POD = "Pod"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class NamespacedKind(NamedTuple):
    """A kind whose objects can be listed and deleted.

    Attributes:
        kind: e.g. `Deployment`.
        root: path of its API version, e.g. `/apis/apps/v1`.
        resource: its resource in the API, e.g. `deployments`.
    """

    kind: str
    root: str
    resource: str

    @property
    def name(self) -> str:
        """Its resource as kubectl takes it, e.g. `deployments.apps`; without the group for Kubernetes' core."""
        group = self.root.split("/")[2:-1]
        return ".".join([self.resource, *group])

    def path(self, namespace: str, name: str = "") -> str:
        """The path of all its objects in a namespace, or of the one of a name."""
        path = f"{self.root}/namespaces/{namespace}/{self.resource}"
        return f"{path}/{name}" if name else path


def read_namespaced_kinds(api: client.ApiClient) -> list[NamespacedKind]:
    """Each kind once, in the version that the API server prefers. Raises ClusterUnavailable."""
    with explaining(api):
        answers = {root: ask(api, "GET", root, accept=_DISCOVERY).data for root in ("/api", "/apis")}
        return [kind for root, answer in answers.items() for kind in _kinds(json.loads(answer), root)]


def _kinds(discovery: dict[str, Any], root: str) -> list[NamespacedKind]:
    found: dict[tuple[str, str], NamespacedKind] = {}
    for group in discovery["items"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            path = "/".join(filter(None, (root, name, version["version"])))
            for each in version.get("resources", ()):
                if each["scope"] == "Namespaced" and {"list", "delete"} <= set(each["verbs"]):
                    kind = NamespacedKind(each["responseKind"]["kind"], path, each["resource"])
                    found.setdefault((name, each["resource"]), kind)
    return list(found.values())
