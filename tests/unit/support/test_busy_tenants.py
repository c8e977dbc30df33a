"""Failed syncs, read from what kubectl's watch writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.busy_tenants import read_failures


def state(status: str, reason: str) -> dict[str, Any]:
    condition = {"type": "Ready", "status": status, "reason": reason, "message": "a {message}"}
    metadata = {"namespace": "apps", "name": "dev-team"}
    return {"kind": "Kustomization", "metadata": metadata, "status": {"conditions": [condition]}}


@pytest.mark.parametrize(
    ("status", "reason", "failed"),
    [
        ("True", "ReconciliationSucceeded", False),
        ("Unknown", "Progressing", False),
        ("False", "DependencyNotReady", False),
        ("False", "BuildFailed", True),
        ("False", "ArtifactFailed", True),
    ],
)
def test_a_state_that_flux_does_not_work_on_any_more_is_a_failure(status: str, reason: str, failed: bool) -> None:
    written = f"{json.dumps(state('True', 'a'), indent=2)}\n{json.dumps(state(status, reason), indent=2)}\n"

    states, found = read_failures(written + '{"kind": "cut off')

    assert states == 2
    assert found == (["Kustomization apps/dev-team: " + reason + ": a {message}"] if failed else [])
