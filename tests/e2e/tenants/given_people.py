"""A tenant with viewers and developers, and auditors of the platform."""

from __future__ import annotations

from tests.support.environment import Environment, base
from tests.support.lab import Lab

TENANT, NAMESPACE = "people", "people-apps"
GROUPS = {role: f"oidc:{role}s" for role in ("viewer", "developer", "auditor")}
CONFIG_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: applied}, data: {a: b}}\n"


def group(role: str) -> dict[str, str]:
    return {"kind": "Group", "name": GROUPS[role]}


def add(stack: Environment, lab: Lab) -> None:
    files = {"app/config-map.yaml": CONFIG_MAP}
    lab.repository(TENANT, "apps", files, stack.project.folder.parent / "people", private=True)
    stack.project.tenant(TENANT, base(lab, f"{TENANT}/apps", NAMESPACE))
    stack.onboard(TENANT, "./app")
    stack.config["tenants"][TENANT]["people"] = {
        "viewers": [group("viewer")],
        "developers": [group("developer")],
    }
    stack.config["cluster"]["auditors"] = [group("auditor")]
