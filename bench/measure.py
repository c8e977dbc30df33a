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
"""Seconds between two looks at the memory."""

_LAST_LINES = 20


@dataclass(frozen=True)
class Sample:
    """What one run of a command took.

    Attributes:
        seconds: wall time.
        peak_mib: highest sum of the resident sets (RSS) of the command and all that it started, in MiB.
            Pages that several of these processes share count once for each of them.
    """

    seconds: float
    peak_mib: float


def measure(run: Callable[[], subprocess.CompletedProcess[str]]) -> Sample:
    """Run a command and measure it; whatever it has left running when it is interrupted is killed.

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
        watcher.kill_what_is_left()
        raise
    watcher.finish()
    if done.returncode:
        raise failure(done)
    return Sample(seconds, watcher.peak / 2**20)


def failure(done: subprocess.CompletedProcess[str]) -> LabError:
    """The error for a command that failed, with the end of its output."""
    output = f"{done.stdout}\n{done.stderr}".strip().splitlines()[-_LAST_LINES:]
    return LabError(
        "\n".join([f"`{' '.join(map(str, done.args))}` ended with {done.returncode}:", *output]),
        "put right what it says; a benchmark of something that fails means nothing",
    )


class _MemoryWatcher(threading.Thread):
    """Adds up the memory of the processes that this one starts from now on, and of those that they start.

    Attributes:
        peak: the highest sum so far, in bytes.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._ended = threading.Event()
        self._own = psutil.Process()
        # The cluster's processes are children of this one as well.
        self._others = set(self._own.children(recursive=True))
        self._seen: set[psutil.Process] = set()

    def run(self) -> None:
        while not self._ended.wait(SAMPLE_INTERVAL):
            processes = set(self._own.children(recursive=True)) - self._others
            self._seen |= processes
            self.peak = max(self.peak, sum(map(_resident_bytes, processes)))

    def finish(self) -> None:
        """Stop watching."""
        self._ended.set()
        self.join()

    def kill_what_is_left(self) -> None:
        """Kill the watched processes that still run, those included whose parent has ended."""
        for process in self._seen:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def _resident_bytes(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.memory_info().rss
    return 0
