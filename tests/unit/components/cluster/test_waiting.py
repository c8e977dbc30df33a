"""Waiting asks until nothing is missing or the timeout is over."""

import pytest

from flux_tenancy.components.cluster.hooks import POLL_SECONDS, wait_for


@pytest.mark.parametrize(
    ("answers", "timeout", "missing", "waits"),
    [
        ([None], 10.0, None, 0),
        (["this", "that", None], 10.0, None, 2),
        (["this", "that", "that", "that"], 3 * POLL_SECONDS, "that", 3),
        (["this"], 0.0, "this", 0),
        # An empty reason is still a reason.
        ([""], 0.0, "", 0),
    ],
    ids=["nothing is missing", "not at first", "until the timeout", "without a timeout", "an empty reason"],
)
def test_it_asks_until_nothing_is_missing_or_the_timeout_is_over(answers, timeout, missing, waits):
    left, waited = list(answers), list[float]()

    assert wait_for(lambda: left.pop(0), timeout, clock=lambda: sum(waited), sleep=waited.append) == missing
    assert (left, waited) == ([], [POLL_SECONDS] * waits)
