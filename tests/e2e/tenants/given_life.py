"""Tenants that move, take another name and leave; another one comes later."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.environment import Environment, base
from tests.support.lab import Lab

OWNER = "life"
MOVING, RENAMED, RENAMED_TO, BROKEN, COMING = "life-moving", "life-before", "life-after", "life-broken", "life-coming"
LEAVING, TEAM = "life-leaving", "life-team"
"""A tenant that leaves, and its team, in a delegated namespace of this name."""


def config_map(name: str, value: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  value: {value}\n"


FILES = {
    "one/both.yaml": config_map("both", "one"),
    "one/first.yaml": config_map("only-in-one", "one"),
    "two/both.yaml": config_map("both", "two"),
}


def add(stack: Environment, lab: Lab) -> None:
    """A private repository for each tenant; what they are listed with is the folder `one`."""
    with TemporaryDirectory() as folder:
        for tenant in (MOVING, RENAMED, BROKEN, COMING, LEAVING):
            lab.repository(OWNER, tenant, FILES, Path(folder), private=True)
    for tenant in (MOVING, RENAMED, BROKEN, LEAVING):
        delegated = [{"name": TEAM, "delegatedTo": TEAM}] if tenant == LEAVING else []
        namespaces = {"namespaces": [{"name": tenant}, *delegated]}
        stack.project.tenant(tenant, base(lab, f"{OWNER}/{tenant}", tenant) | namespaces)
        stack.onboard(tenant, "./one")
    # What a tenant leaves to its successor.
    stack.config["tenants"][RENAMED]["sync"]["deletionPolicy"] = "Orphan"
