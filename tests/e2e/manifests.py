"""Flux objects as a tenant writes them."""

from __future__ import annotations

from typing import Any


def kustomization(name: str, source: str = "dev-team", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "apps"},
        "spec": {
            "interval": "1h",
            "prune": True,
            "path": "./staging",
            "serviceAccountName": "dev-team",
            "targetNamespace": "apps",
            "sourceRef": {"kind": "GitRepository", "name": source},
            **spec,
        },
    }


def git_repository(name: str, url: str) -> dict[str, Any]:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": name, "namespace": "apps"},
        "spec": {"interval": "1h", "url": url, "ref": {"branch": "main"}},
    }
