"""Objects of the two tenants of `tenants_project`, as a cluster with Flux has them."""

from __future__ import annotations

from typing import Any

SOURCES = "/apis/source.toolkit.fluxcd.io/v1/gitrepositories"
SYNCS = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"
RELEASES = "/apis/helm.toolkit.fluxcd.io/v2/helmreleases"
QUOTAS = "/api/v1/resourcequotas"
REVISION = "main@sha1:0123456789abcdef"


def flux_object(kind: str, namespace: str, name: str, ready: str, message: str = "", **spec: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "metadata": {
            "namespace": namespace,
            "name": name,
            "generation": 1,
            "labels": {"toolkit.fluxcd.io/tenant": {"apps": "dev-team", "tools": "ops-team"}[namespace]},
        },
        "spec": {"sourceRef": {}, **spec} if kind == "Kustomization" else spec,
        "status": {
            "conditions": [{"type": "Ready", "status": ready, "message": message, "observedGeneration": 1}],
            "lastAppliedRevision": REVISION,
            "history": [
                {"firstReconciled": "2026-11-20T08:00:00Z", "lastReconciled": "2026-11-23T08:00:00Z"},
                {"firstReconciled": "2026-11-01T08:00:00Z", "lastReconciled": "2026-11-19T08:00:00Z"},
            ],
        },
    }


def sources_and_syncs(message: str) -> dict[str, list[dict[str, Any]]]:
    """Lists of a cluster in which dev-team is ready, and ops-team waits for a source that fails with this message."""
    return {
        SOURCES: [
            flux_object("GitRepository", "apps", "dev-team", "True"),
            flux_object("GitRepository", "tools", "ops-team", "False", message),
        ],
        SYNCS: [
            flux_object("Kustomization", "apps", "dev-team", "True", "Applied revision"),
            flux_object("Kustomization", "tools", "ops-team", "False", "Source is not ready"),
        ],
    }


def quota(namespace: str, tenant: str, hard: dict[str, str], used: dict[str, str]) -> dict[str, Any]:
    metadata = {"namespace": namespace, "labels": {"toolkit.fluxcd.io/tenant": tenant}}
    return {"metadata": metadata, "status": {"hard": hard, "used": used}}
