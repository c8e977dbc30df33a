"""What a tenant asks of the API server every day, with objects that every policy allows."""

from __future__ import annotations

from dataclasses import dataclass

from components.cluster.manifests import Manifest
from components.sync.names import KUSTOMIZE_API, SOURCE_API

SOURCES = "https://git.example.com/*"
IMAGES = "registry.example.com/*"
"""What the platform allows, so that the policies have lists to compare with."""

OUTSIDE = "bench-outside"
"""A namespace that belongs to no tenant, so that no policy applies to it."""

VERBS = ("create", "update", "delete")

_CONTAINER = {
    "name": "main",
    "image": "registry.example.com/team/main:1",
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}
_POD = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [_CONTAINER],
}
_LABELS = {"app": "bench"}


@dataclass(frozen=True)
class Target:
    """A kind of objects that are created, updated and deleted.

    Attributes:
        name: its name in the report.
        path: path of the collection.
        manifest: an object, without its metadata.
        change: JSON merge patch that updates it.
    """

    name: str
    path: str
    manifest: Manifest
    change: Manifest

    def request(self, verb: str, name: str) -> tuple[str, str, Manifest | None]:
        """Method, path and body of a request for the object `name`."""
        if verb == "create":
            return "POST", self.path, self.manifest | {"metadata": {"name": name}}
        if verb == "update":
            return "PATCH", f"{self.path}/{name}", self.change
        return "DELETE", f"{self.path}/{name}", None


def targets(tenant: str) -> tuple[Target, ...]:
    """Objects in the namespace of a tenant, which has the tenant's name, and a control outside of it."""

    def target(name: str, path: str, content: Manifest, change: Manifest) -> Target:
        api, _, plural = path.rpartition("/")
        kind, _, elsewhere = name.partition(", ")
        folder = f"{'apis' if '/' in api else 'api'}/{api}/namespaces/{OUTSIDE if elsewhere else tenant}"
        return Target(name, f"/{folder}/{plural}", {"apiVersion": api, "kind": kind, **content}, change)

    # Paused, so that the deployment controller creates nothing and takes no time of the same cores.
    paused = {"paused": True, "replicas": 0, "selector": {"matchLabels": _LABELS}}
    source = {"sourceRef": {"kind": "GitRepository", "name": tenant}, "path": "./", "interval": "10m", "prune": True}
    repository = {"url": f"https://git.example.com/{tenant}/apps.git", "ref": {"branch": "main"}, "interval": "10m"}
    interval = {"spec": {"interval": "20m"}}
    data, new = {"data": {"key": "old"}}, {"data": {"key": "new"}}
    return (
        target(
            "Kustomization",
            f"{KUSTOMIZE_API}/kustomizations",
            {"spec": {**source, "serviceAccountName": tenant, "targetNamespace": tenant}},
            interval,
        ),
        target("GitRepository", f"{SOURCE_API}/gitrepositories", {"spec": repository}, interval),
        target(
            "Deployment",
            "apps/v1/deployments",
            {"spec": {**paused, "template": {"metadata": {"labels": _LABELS}, "spec": _POD}}},
            {"spec": {"replicas": 1}},
        ),
        target("ConfigMap", "v1/configmaps", data, new),
        target("ConfigMap, no policy", "v1/configmaps", data, new),
    )


def forbidden(tenant: str) -> tuple[str, str, Manifest]:
    """A dry run that every engine refuses: a Service that is reachable from outside the cluster."""
    spec = {"type": "NodePort", "selector": _LABELS, "ports": [{"port": 80}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "exposed"}, "spec": spec}
    return "POST", f"/api/v1/namespaces/{tenant}/services?dryRun=All", service
