"""Waiting asks until nothing is missing or the time is over."""

from components.cluster.waiting import POLL_SECONDS, wait_for


class Missing:
    """Something that comes to be in order after some rounds. Time passes with each wait."""

    def __init__(self, *reasons):
        self.reasons = list(reasons)
        self.asked = 0
        self.waited = []

    def __call__(self):
        self.asked += 1
        return self.reasons.pop(0) if len(self.reasons) > 1 else self.reasons[0]

    def wait(self, timeout_seconds):
        return wait_for(self, timeout_seconds, clock=lambda: sum(self.waited), sleep=self.waited.append)


def test_where_nothing_is_missing_nobody_waits():
    missing = Missing(None)

    assert missing.wait(10.0) is None
    assert (missing.asked, missing.waited) == (1, [])


def test_it_asks_again_until_nothing_is_missing():
    missing = Missing("this", "that", None)

    assert missing.wait(10.0) is None
    assert missing.waited == [POLL_SECONDS, POLL_SECONDS]


def test_when_the_time_is_over_it_says_what_is_missing_still():
    missing = Missing("this", "that")

    assert missing.wait(3 * POLL_SECONDS) == "that"
    assert missing.waited == [POLL_SECONDS] * 3


def test_without_time_it_asks_once():
    missing = Missing("this", None)

    assert missing.wait(0.0) == "this"
    assert (missing.asked, missing.waited) == (1, [])


def test_a_reason_without_words_is_a_reason():
    assert Missing("").wait(0.0) == ""
