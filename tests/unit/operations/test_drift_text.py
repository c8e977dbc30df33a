"""How a report of drift says what to do."""

from __future__ import annotations

import json

import pytest

from flux_tenancy.operations.drift.differences import Difference, What
from flux_tenancy.operations.drift.search import Drift
from flux_tenancy.operations.drift.text import _minute, _unowned, as_json


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("2026-11-27T05:00:00Z", "2026-11-27 05:00 UTC"),
        ("", "at an unknown time"),
        ("0000-01-01T00:00:00Z", "at an unknown time"),
        ("10000-01-01T00:00:00Z", "at an unknown time"),
    ],
)
def test_a_time_that_no_calendar_has_is_unknown(time, shown):
    """A tenant may write it into `managedFields`."""
    assert _minute(time) == shown


def test_no_command_deletes_a_leftover_that_would_take_others_along():
    """A Kustomization that only the state has lost would prune all of its tenant's workloads."""
    left = [Difference(What.LEFT, kind, "apps", "dev-team") for kind in ("Kustomization", "NetworkPolicy")]

    first, _, listed, _, command = _unowned(left)

    assert "`pulumi up` first" in first
    assert (listed, command) == ("  Kustomization apps/dev-team", "  kubectl delete networkpolicy dev-team -n apps")


def test_a_value_that_is_missing_is_null_for_programs():
    drift = Drift((Difference(What.ADDED, "ConfigMap", "apps", "a", cluster="b"),), 1, ())

    [found] = json.loads(as_json(drift))["differences"]

    assert (found["stack"], found["cluster"]) == (None, "b")
