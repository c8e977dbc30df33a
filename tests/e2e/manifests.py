"""Flux objects as a tenant writes them."""

from __future__ import annotations

from typing import Any


def kustomization(name: str, source: str = "dev-team", *, place: str = "apps", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": place},
        "spec": {
            "interval": "1h",
            "prune": True,
            "path": "./staging",
            "serviceAccountName": "dev-team",
            "targetNamespace": place,
            "sourceRef": {"kind": "GitRepository", "name": source},
            **spec,
        },
    }


def git_repository(name: str, url: str, place: str = "apps") -> dict[str, Any]:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": name, "namespace": place},
        "spec": {"interval": "1h", "url": url, "ref": {"branch": "main"}},
    }


def pod(name: str, namespace: str, image: str) -> dict[str, Any]:
    """A Pod that keeps the Pod Security Standard `restricted`."""
    container = {
        "name": "app",
        "image": image,
        "securityContext": {"runAsUser": 1000, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [container],
        },
    }


def namespace(name: str, labels: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
