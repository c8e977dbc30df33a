"""Waiting asks until nothing is missing or the timeout is over."""

from flux_tenancy.components.cluster.hooks import POLL_SECONDS, wait_for


class Missing:
    """Something that is in order after a number of rounds. Time passes with each wait."""

    def __init__(self, *reasons):
        self.reasons = list(reasons)
        self.asked = 0
        self.waited = []

    def __call__(self):
        self.asked += 1
        return self.reasons.pop(0) if len(self.reasons) > 1 else self.reasons[0]

    def wait(self, timeout_seconds):
        return wait_for(self, timeout_seconds, clock=lambda: sum(self.waited), sleep=self.waited.append)


def test_if_nothing_is_missing_there_is_no_wait():
    missing = Missing(None)

    assert missing.wait(10.0) is None
    assert (missing.asked, missing.waited) == (1, [])


def test_it_asks_again_until_nothing_is_missing():
    missing = Missing("this", "that", None)

    assert missing.wait(10.0) is None
    assert missing.waited == [POLL_SECONDS, POLL_SECONDS]


def test_after_the_timeout_it_returns_what_is_still_missing():
    missing = Missing("this", "that")

    assert missing.wait(3 * POLL_SECONDS) == "that"
    assert missing.waited == [POLL_SECONDS] * 3


def test_without_a_timeout_it_asks_once():
    missing = Missing("this", None)

    assert missing.wait(0.0) == "this"
    assert (missing.asked, missing.waited) == (1, [])


def test_an_empty_reason_is_still_a_reason():
    assert Missing("").wait(0.0) == ""
