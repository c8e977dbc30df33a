"""Tenants with roles of Kubernetes: one is an admin of its namespace, one may do everything in it."""

from __future__ import annotations

from tests.support.environment import Environment, base
from tests.support.lab import Lab

ADMIN, OWNER = "role-admin", "role-owner"
CONFIG_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: applied}, data: {a: b}}\n"


def add(stack: Environment, lab: Lab) -> None:
    files = {"app/config-map.yaml": CONFIG_MAP}
    for tenant, role in ((ADMIN, "admin"), (OWNER, "cluster-admin")):
        lab.repository(tenant, "apps", files, stack.project.folder.parent / "roles", private=True)
        stack.project.tenant(tenant, base(lab, f"{tenant}/apps", tenant) | {"role": role})
        stack.onboard(tenant, "./app")
