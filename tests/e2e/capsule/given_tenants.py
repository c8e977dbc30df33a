"""Tenants of Capsule: one makes namespaces, as many as it may, one moves between the modes, two leave, one stays."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import yaml

from tests.support.environment import Environment, base
from tests.support.lab import Lab, eventually

MAKER, MOVER, OTHER = "shop", "mover", "rival"
HOLDER, LEAVER = "holder", "leaver"
ACCOUNT = f"system:serviceaccount:{MAKER}:{MAKER}"
LISTED = f"{MAKER}-data"
"""A namespace of the maker that the stack lists."""
OTHERS = f"{OTHER}-data"
"""The same of the other."""
MADE, BEYOND = f"{MAKER}-web", f"{MAKER}-beyond"
"""A namespace that the maker makes, and one that would be one too many."""
MOST = 2
"""How many namespaces a tenant may have besides its home: the stack lists one of them."""
ORGANIZATION, NAME = "capsule", "apps"
REGISTRY, HOSTS = "registry.example.com", "*.apps.example.com"


def namespace(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **metadata}}


def admitted(stack: Environment, manifest: dict[str, Any], *options: str, user: str | None = None) -> None:
    """Create an object as soon as nothing refuses it."""
    said = ""

    def created() -> bool:
        nonlocal said
        said = stack.cluster.create(manifest, *options, user=user)
        return not said

    try:
        eventually(created)
    except AssertionError:
        raise AssertionError(said) from None


def app(name: str, place: str) -> dict[str, Any]:
    """A Deployment that keeps the Pod Security Standard `restricted`."""
    container = {
        "name": "app",
        "image": f"{REGISTRY}/{name}:1",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    pod = {
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": place},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    }


FILES = {
    **{f"{tenant}/kustomization.yaml": {"resources": []} for tenant in (OTHER, HOLDER, LEAVER)},
    f"{MAKER}/data.yaml": app("data", LISTED),
    f"{MOVER}/data.yaml": app("data", f"{MOVER}-data"),
}


def add(stack: Environment, lab: Lab) -> None:
    """Add the tenants, which read the same repository."""
    with tempfile.TemporaryDirectory() as folder:
        files = {path: yaml.safe_dump(manifest) for path, manifest in FILES.items()}
        lab.repository(ORGANIZATION, NAME, files, Path(folder), True)
    for tenant in (MAKER, MOVER, OTHER, HOLDER, LEAVER):
        own = base(lab, f"{ORGANIZATION}/{NAME}", tenant)
        own["namespaces"].append({"name": f"{tenant}-data"})
        stack.project.tenant(tenant, own | {"sync": {}})
        stack.onboard(tenant, f"./{tenant}")
    stack.config["tenancy"]["capsule"] = {"namespaces": MOST}
    stack.config["policies"] |= {"images": {"allowed": [f"{REGISTRY}/*"]}, "ingress": {"hosts": [HOSTS]}}
