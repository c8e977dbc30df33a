"""Waiting until a cluster reaches a state."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from flux_tenancy.components.config.errors import coded

POLL_SECONDS = 1.0
# The SDK registers resources in the event loop's own threads and keeps each thread until the step is done. A hook that
# needed one of these threads could wait for its own step.
_THREADS = ThreadPoolExecutor(max_workers=32, thread_name_prefix="waiting")

_P = ParamSpec("_P")
_R = TypeVar("_R")


class NotReady(Exception):
    """The cluster has not reached the state in time; the message says what is missing and where to look."""

    def __str__(self) -> str:
        return coded(self.args[0])


def wait_for(
    missing: Callable[[], str | None],
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    poll_seconds: float = POLL_SECONDS,
) -> str | None:
    """Poll until nothing is missing; returns what is still missing at the timeout, or None.

    Args:
        missing: returns what is missing, or None; it is called at least once.
        timeout_seconds: how long to poll.
        clock: monotonic time in seconds.
        sleep: waits for a number of seconds.
        poll_seconds: interval between two polls.
    """
    deadline = clock() + timeout_seconds
    while (reason := missing()) is not None:
        if clock() >= deadline:
            return reason
        sleep(poll_seconds)
    return None


async def in_thread(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Run a blocking function in a thread of its own; for resource hooks, which run on the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, partial(function, *args, **kwargs))
