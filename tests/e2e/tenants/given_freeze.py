"""A tenant whose changes can be frozen."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.support.environment import Environment, base
from tests.support.lab import Lab

TENANT, OWNER, NAME = "frozen", "frozen", "apps"


def note(text: str) -> str:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}, "data": {"text": text}}
    return json.dumps(manifest)


def add(stack: Environment, lab: Lab) -> None:
    """Add the tenant, which fetches and applies as often as policies allow."""
    with tempfile.TemporaryDirectory() as folder:
        lab.repository(OWNER, NAME, {"apps/note.yaml": note("first")}, Path(folder), True)
    described = base(lab, f"{OWNER}/{NAME}", TENANT, interval="30s")
    described["sync"] |= {"interval": "30s", "retryInterval": "30s"}
    stack.project.tenant(TENANT, described)
    stack.onboard(TENANT, "./apps")
