"""One builder at a time: a lock on the tool cache that other checkouts and sessions wait for."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def build_lock(file: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock for as long as the block runs; the system gives it up when the process dies.

    Args:
        file: the lock file, made where it is missing.
        say: told once for whom this process waits, when it has to.
    """
    with file.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another build of the lab's tools: {_holder(file)}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(f"process {os.getpid()}, since {time.strftime('%H:%M:%S')}")
        lock.flush()
        yield


def _holder(file: Path) -> str:
    return file.read_text() or "process unknown"
