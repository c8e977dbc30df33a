"""Two tenants with the same repository: one has been granted what it asks for, the other has not."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.support.environment import Environment, base
from tests.support.lab import Lab, eventually
from tests.support.policy_requests import definition

GRANTED, OTHER = "granted", "not-granted"
DELEGATED, TEAM = "granted-team", "team"
"""A namespace that the tenant with grants has delegated, and the account of its team."""
GROUP = "example.com"
ORGANIZATION, NAME = "granted", "apps"
REASON = "The vendor's operator needs it."
GRANTS: list[dict[str, Any]] = [
    {
        "reason": REASON,
        "expires": "2099-12-31",
        "rules": [{"apiGroups": [GROUP], "resources": ["widgets"], "verbs": ["create", "delete", "get", "patch"]}],
        "clusterObjects": [{"apiGroup": GROUP, "resource": "gizmos", "name": "shared", "verbs": ["get", "patch"]}],
    },
    {
        "reason": REASON,
        "serviceTypes": ["NodePort"],
        "exceptions": [{"policy": "disruption-budgets", "names": ["legacy"]}],
    },
]


def budget(name: str) -> dict[str, Any]:
    """A PodDisruptionBudget that blocks node drains."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": name}}},
    }


def gizmo(name: str) -> dict[str, Any]:
    """A cluster-scoped object as a tenant has it in Git."""
    kept = {"kustomize.toolkit.fluxcd.io/prune": "disabled"}
    metadata = {"name": name, "annotations": kept}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Gizmo", "metadata": metadata, "spec": {"by": "tenant"}}


FILES: dict[str, dict[str, Any]] = {
    "widget": {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {}},
    "gizmo": gizmo("shared"),
    "service": {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "open"},
        "spec": {"type": "NodePort", "ports": [{"port": 80}], "selector": {"app": "legacy"}},
    },
    "budget": budget("legacy"),
}


def add(stack: Environment, lab: Lab) -> None:
    """Add the tenants, the kinds of the repository, and the cluster-scoped objects."""
    for kind, scope in (("Widget", "Namespaced"), ("Gizmo", "Cluster")):
        stack.cluster.apply(definition(GROUP, kind, scope))
    for name in ("shared", "another"):
        eventually(partial(_is_created, stack, gizmo(name) | {"spec": {"by": "platform"}}), what="the definition")
    files = {f"granted/{name}.yaml": yaml.safe_dump(manifest) for name, manifest in FILES.items()}
    note = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}}
    with tempfile.TemporaryDirectory() as folder:
        lab.repository(ORGANIZATION, NAME, files | {"plain/note.yaml": yaml.safe_dump(note)}, Path(folder), True)
    for tenant, path in ((GRANTED, "./granted"), (OTHER, "./plain")):
        delegated = [{"name": DELEGATED, "delegatedTo": TEAM}] if tenant == GRANTED else []
        namespaces = {"namespaces": [{"name": tenant}, *delegated]}
        stack.project.tenant(tenant, base(lab, f"{ORGANIZATION}/{NAME}", tenant) | namespaces)
        stack.onboard(tenant, path)
    stack.config["tenants"][GRANTED]["grants"] = GRANTS
    stack.config["tenancy"]["grantableGroups"] = [GROUP]


def _is_created(stack: Environment, manifest: dict[str, Any]) -> bool:
    return not stack.cluster.create(manifest)
