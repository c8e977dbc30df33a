"""What a tenant asks for all day, as objects that every policy lets pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from components.cluster.manifests import Manifest
from components.sync.names import KUSTOMIZE_API, SOURCE_API

SOURCES = "https://git.example.com/*"
IMAGES = "registry.example.com/*"
"""What the platform allows, so that the policies have lists to compare with."""

OUTSIDE = "bench-outside"
"""A namespace that is no tenant's, so that no policy looks into it."""


class Verb(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class Target:
    """A kind of objects that come, change and go.

    Attributes:
        name: what the report calls it.
        path: where the objects are created.
        manifest: an object by its name.
        change: JSON merge patch that changes it.
    """

    name: str
    path: str
    manifest: Callable[[str], Manifest]
    change: Manifest

    def request(self, verb: Verb, name: str) -> tuple[str, str, Manifest | None]:
        """Method, path and body of a request for the object `name`."""
        if verb is Verb.CREATE:
            return "POST", self.path, self.manifest(name)
        if verb is Verb.UPDATE:
            return "PATCH", f"{self.path}/{name}", self.change
        return "DELETE", f"{self.path}/{name}", None


def targets(tenant: str) -> tuple[Target, ...]:
    """What the tenant changes in its namespace, which is called like itself; and, as a control, outside of it."""
    return (
        Target(
            "Kustomization",
            f"/apis/{KUSTOMIZE_API}/namespaces/{tenant}/kustomizations",
            lambda name: _object(
                KUSTOMIZE_API,
                "Kustomization",
                name,
                spec={
                    "serviceAccountName": tenant,
                    "sourceRef": {"kind": "GitRepository", "name": tenant},
                    "path": "./",
                    "interval": "10m",
                    "prune": True,
                    "targetNamespace": tenant,
                },
            ),
            {"spec": {"interval": "20m"}},
        ),
        Target(
            "GitRepository",
            f"/apis/{SOURCE_API}/namespaces/{tenant}/gitrepositories",
            lambda name: _object(
                SOURCE_API,
                "GitRepository",
                name,
                spec={
                    "url": f"https://git.example.com/{tenant}/apps.git",
                    "ref": {"branch": "main"},
                    "interval": "10m",
                },
            ),
            {"spec": {"interval": "20m"}},
        ),
        Target(
            "Deployment",
            f"/apis/apps/v1/namespaces/{tenant}/deployments",
            _deployment,
            {"spec": {"replicas": 1}},
        ),
        Target("ConfigMap", f"/api/v1/namespaces/{tenant}/configmaps", _config_map, {"data": {"key": "new"}}),
        Target(
            "ConfigMap, no policy", f"/api/v1/namespaces/{OUTSIDE}/configmaps", _config_map, {"data": {"key": "new"}}
        ),
    )


def forbidden(tenant: str) -> tuple[str, str, Manifest]:
    """A dry run that each engine refuses: a Service that is seen from outside."""
    service = _object(
        "v1",
        "Service",
        "exposed",
        spec={"type": "NodePort", "selector": {"app": "exposed"}, "ports": [{"port": 80}]},
    )
    return "POST", f"/api/v1/namespaces/{tenant}/services?dryRun=All", service


def _object(api_version: str, kind: str, name: str, **rest: Manifest) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **rest}


def _config_map(name: str) -> Manifest:
    return _object("v1", "ConfigMap", name, data={"key": "old"})


def _deployment(name: str) -> Manifest:
    container = {
        "name": "main",
        "image": "registry.example.com/team/main:1",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    restricted = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    return _object(
        "apps/v1",
        "Deployment",
        name,
        spec={
            # Its controller, which would take time of the same cores, makes nothing of it.
            "paused": True,
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"securityContext": restricted, "containers": [container]},
            },
        },
    )
