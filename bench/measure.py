"""Wall time and peak memory of a command."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from lab.errors import LabError

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

    Args:
        run: starts one process as a child of this one, waits for it and captures its output.

    Raises:
        LabError: the command failed; with the end of its output.
    """
    watcher = _MemoryWatcher()
    watcher.start()
    begin = time.perf_counter()
    try:
        done = run()
        seconds = time.perf_counter() - begin
    except BaseException:
        watcher.finish()
        for process in watcher.seen:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        raise
    watcher.finish()
    checked(done)
    return Sample(seconds, watcher.peak / 2**20)


def checked(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """A command that succeeded.

    Raises:
        LabError: it failed; with the end of its output.
    """
    if done.returncode:
        output = f"{done.stdout}\n{done.stderr}".strip().splitlines()[-_LAST_LINES:]
        raise LabError(
            "\n".join([f"`{' '.join(map(str, done.args))}` exited with code {done.returncode}:", *output]),
            "fix the error above; a command that fails cannot be measured",
        )
    return done


class _MemoryWatcher(threading.Thread):
    """Adds up the memory of the processes that this one starts from now on, and of their descendants.

    Attributes:
        peak: the highest sum so far, in bytes.
        seen: the processes.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self.seen: set[psutil.Process] = set()
        self._finished = threading.Event()
        # The cluster's processes are children of this one as well.
        self._others = set(psutil.Process().children(recursive=True))

    def run(self) -> None:
        while not self._finished.wait(SAMPLE_INTERVAL):
            processes = set(psutil.Process().children(recursive=True)) - self._others
            self.seen |= processes
            self.peak = max(self.peak, sum(map(_resident_bytes, processes)))

    def finish(self) -> None:
        self._finished.set()
        self.join()


def _resident_bytes(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.memory_info().rss
    return 0
