"""What a terminal shows while a command works for more than two seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

_QUIET_SECONDS = 2.0


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show what the command does, below its other output; nothing in a pipe or a log.

    Args:
        what: e.g. `Reading the cluster of staging`. Nothing may be printed to standard output meanwhile.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(f"{what} …")
    timer = Timer(_QUIET_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        # A timer that is firing has started the status once it ends.
        timer.join()
        status.stop()
