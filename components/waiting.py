"""Waiting for a cluster to come to a state."""

from __future__ import annotations

import time
from collections.abc import Callable

POLL_SECONDS = 1.0


class NotReady(Exception):
    """The cluster has not come to the state in time; the message says what is missing and where to look."""


def wait_for(
    missing: Callable[[], str | None],
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> str | None:
    """Ask again and again what is missing until it is nothing; what is missing still when the time is over, or None.

    Args:
        missing: says what is missing, or None. It is asked at least once.
        timeout_seconds: how long that may take.
        clock: seconds that only grow.
        sleep: waits for a number of seconds.
    """
    deadline = clock() + timeout_seconds
    while (reason := missing()) is not None:
        if clock() >= deadline:
            return reason
        sleep(POLL_SECONDS)
    return None
