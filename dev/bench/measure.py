"""Wall time and peak memory of a command."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import psutil

from dev.lab.errors import LabError

SAMPLE_INTERVAL = 0.05
"""Seconds between two samples of the memory."""

_LAST_LINES = 20


@dataclass(frozen=True)
class Sample:
    """What one run of a command took.

    Attributes:
        seconds: wall time.
        peak_mib: highest sum of the resident sets (RSS) of the command and its descendants, in MiB. Pages that
            several of these processes share count once for each of them.
    """

    seconds: float
    peak_mib: float


def measure(run: Callable[[], subprocess.CompletedProcess[str]]) -> Sample:
    """Run a command and measure it; if it is interrupted, its processes are killed.

    `run` starts one process as a child of this one, waits for it and captures its output. Raises LabError if it fails.
    """
    # The cluster's processes are children of this one as well, and its node starts containers meanwhile.
    others = set(psutil.Process().children())

    def started() -> set[psutil.Process]:
        found = set(psutil.Process().children()) - others
        return found.union(*map(_descendants, found))

    peak = 0
    with ThreadPoolExecutor(1) as pool:
        begin = time.perf_counter()
        running = pool.submit(run)
        try:
            while not wait([running], SAMPLE_INTERVAL).done:
                peak = max(peak, sum(map(_resident_bytes, started())))
            seconds = time.perf_counter() - begin
            checked(running.result())
        except BaseException:
            for process in started():
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            raise
    return Sample(seconds, peak / 2**20)


def checked(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """A command that succeeded; raises LabError with the end of its output if it failed."""
    if done.returncode:
        output = f"{done.stdout}\n{done.stderr}".strip().splitlines()[-_LAST_LINES:]
        raise LabError(
            "\n".join([f"`{' '.join(map(str, done.args))}` exited with code {done.returncode}:", *output]),
            "fix the error above; a command that fails cannot be measured",
        )
    return done


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.children(recursive=True)
    return []


def _resident_bytes(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.memory_info().rss
    return 0
