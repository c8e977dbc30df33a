"""A tenant that has delegated one of its namespaces to a team of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import yaml

from tests.support.environment import Environment, base
from tests.support.lab import Lab

TENANT, NAMESPACE, TEAM = "department", "department-team", "team"
ORGANIZATION, NAME = "department", "apps"
NOTE: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}}
QUOTA: dict[str, Any] = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "own"}, "spec": {"hard": {}}}


def team_binding(team: str, namespace: str) -> dict[str, Any]:
    """What gives a team the role of its tenant, as the tenant writes it."""
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": team, "namespace": namespace},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "flux-tenancy-tenant"},
        "subjects": [{"kind": "ServiceAccount", "name": team, "namespace": namespace}],
    }


def add(stack: Environment, lab: Lab) -> None:
    """Add the tenant and its repository: what its team may apply, and what not even the tenant may."""
    files = {f"{folder}/object.yaml": yaml.safe_dump(each) for folder, each in {"team": NOTE, "beyond": QUOTA}.items()}
    with tempfile.TemporaryDirectory() as folder:
        lab.repository(ORGANIZATION, NAME, files, Path(folder), True)
    namespaces = [{"name": TENANT}, {"name": NAMESPACE, "delegatedTo": TEAM}]
    stack.project.tenant(TENANT, base(lab, f"{ORGANIZATION}/{NAME}", TENANT) | {"namespaces": namespaces})
    stack.onboard(TENANT, "./team")
