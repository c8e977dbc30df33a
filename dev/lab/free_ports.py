"""Port ranges for the labs of tests and benchmarks, which no other such lab gets."""

from __future__ import annotations

import tempfile
from pathlib import Path

from filelock import FileLock

from dev.lab.errors import LabError
from dev.lab.processes import is_free
from dev.lab.settings import DEFAULT_PORT_BASE, PORTS_EACH, PORTS_OF_A_LAB

_STEP = 100
"""Ports between the bases of two labs; a larger lab takes several steps."""

_BASES = range(DEFAULT_PORT_BASE + PORTS_OF_A_LAB, 32768 - PORTS_OF_A_LAB, _STEP)
"""Above the user's own lab, below the ports of outgoing connections (32768 and up)."""

_claims: dict[int, FileLock] = {}
"""The locks that this process holds, by port base."""


def free_port_base(clusters: int) -> int:
    """The first port of a free range for a lab's Git host and its first clusters.

    No other process gets any of these ports from this function until this one ends.

    Args:
        clusters: highest index of a cluster in the lab.

    Raises:
        LabError: there is no such range of ports.
    """
    ports = PORTS_EACH * (clusters + 1)
    for base in _BASES:
        wanted = range(base, base + ports)
        if all(map(is_free, wanted)) and all(map(_claim, wanted[::_STEP])):
            return base
    raise LabError(
        f"no {ports} free ports in a row from {_BASES.start} to {_BASES.stop}",
        "stop the processes that listen there; `make status` lists those of this checkout",
    )


def _claim(base: int) -> bool:
    """Whether this process holds the ports of one step; the kernel releases them when it ends."""
    if base not in _claims:
        lock = FileLock(Path(tempfile.gettempdir(), f"flux-tenancy-ports-{base}.lock"), mode=0o600)
        try:
            lock.acquire(blocking=False)
        except OSError:  # held by another process, or the file is another user's
            return False
        _claims[base] = lock
    return True
