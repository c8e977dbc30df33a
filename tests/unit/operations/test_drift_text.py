"""How a report of drift says what to do."""

from __future__ import annotations

from flux_tenancy.operations.differences import Difference, What
from flux_tenancy.operations.drift_text import _unowned


def test_no_command_deletes_a_leftover_that_would_take_others_along():
    """A Kustomization that only the state has lost would prune all of its tenant's workloads."""
    left = [Difference(What.LEFT, kind, "apps", "dev-team") for kind in ("Kustomization", "NetworkPolicy")]

    first, _, listed, _, command = _unowned(left)

    assert "`pulumi up` first" in first
    assert (listed, command) == ("  Kustomization apps/dev-team", "  kubectl delete networkpolicy dev-team -n apps")
