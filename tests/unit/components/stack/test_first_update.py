"""What a first update by `pulumi up` is told about the way that takes a quarter of the time."""

from __future__ import annotations

import pytest

from flux_tenancy.components.cluster.component import CLUSTER_TYPE
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.stack.cluster.preflight import slow_first_update

APPLIED = State({(CLUSTER_TYPE, "cluster"): {"uid": "1"}})


@pytest.mark.parametrize(
    ("tenants", "state", "environ", "told"),
    [
        (20, State({}), {}, True),
        (19, State({}), {}, False),
        (20, APPLIED, {}, False),
        (20, State({}), {"PULUMI_SKIP_CHECKPOINTS": "true"}, False),
    ],
    ids=["many", "few", "applied before", "state at the end"],
)
def test_only_a_slow_first_update_is_told_of_a_faster_way(tenants, state, environ, told):
    found = slow_first_update(tenants, state, environ)

    assert (found is not None) is told
