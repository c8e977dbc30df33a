"""Waiting for a cluster to come to a state."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

POLL_SECONDS = 1.0
# The event loop's own threads are those in which the SDK registers resources, each for as long as its step takes. A
# step whose hook waited for one of them could wait for itself.
_THREADS = ThreadPoolExecutor(max_workers=32, thread_name_prefix="waiting")

_P = ParamSpec("_P")
_R = TypeVar("_R")


class NotReady(Exception):
    """The cluster has not come to the state in time; the message says what is missing and where to look."""


def wait_for(
    missing: Callable[[], str | None],
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    poll_seconds: float = POLL_SECONDS,
) -> str | None:
    """Ask again and again what is missing until it is nothing; what is missing still when the time is over, or None.

    Args:
        missing: says what is missing, or None. It is asked at least once.
        timeout_seconds: how long that may take.
        clock: seconds that only grow.
        sleep: waits for a number of seconds.
        poll_seconds: how long to wait before asking again.
    """
    deadline = clock() + timeout_seconds
    while (reason := missing()) is not None:
        if clock() >= deadline:
            return reason
        sleep(poll_seconds)
    return None


async def in_thread(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """What a function returns that blocks; for hooks of the engine, which run on the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, partial(function, *args, **kwargs))
