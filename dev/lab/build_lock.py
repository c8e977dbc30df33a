"""One builder at a time: a lock on the tool cache that other checkouts and sessions wait for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def build_lock(file: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock while the block runs; the kernel releases it when the process dies.

    Args:
        file: the lock file, created if it is missing; it names its holder.
        say: receives the name of the holder, once, if this process has to wait.
    """
    lock = FileLock(file)
    try:
        held = lock.acquire(blocking=False)
    except Timeout:
        say(f"waiting for another build of the lab's tools: {file.read_text() or 'unknown process'}")
        held = lock.acquire()
    with held:
        file.write_text(f"process {os.getpid()}, since {time.strftime('%H:%M:%S')}")
        yield
