"""Failed syncs, read from what kubectl's watch writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.busy_tenants import FailedSyncs
from tests.support.lab import RunningCluster


def state(status: str, reason: str, message: str = "a {message}") -> dict[str, Any]:
    condition = {"type": "Ready", "status": status, "reason": reason, "message": message}
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

    syncs = FailedSyncs(RunningCluster("a", Path("a"), ""))

    syncs.count(written + '{"kind": "cut off')

    assert (syncs.states, syncs.waits) == (2, 0)
    assert syncs.found == (["Kustomization apps/dev-team: " + reason + ": a {message}"] if failed else [])


def test_a_sync_that_waits_for_its_source_has_not_failed() -> None:
    syncs = FailedSyncs(RunningCluster("a", Path("a"), ""))

    syncs.count(
        json.dumps(state("False", "ArtifactFailed", "Source is not ready, artifact not found, retrying in 30s"))
    )

    assert (syncs.waits, syncs.found) == (1, [])
