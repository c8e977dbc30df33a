"""One run of the lab's `pulumi`, with its own temporary folder; it leaves no processes and files.

The engine stops its language host and its plugins when it ends, but not when it is killed: upstream's plugins check
for their engine every five minutes, and the Kubernetes plugin not at all. So `pulumi` on PATH is a script that calls
this one. It becomes the engine, and leaves another process in its own session, the keeper, which waits for the end of
the engine and then removes what the run has left: processes, which have the run's credentials in their environment,
and temporary files, such as the kubeconfig that the Kubernetes plugin writes at every start.

It runs in Python's isolated mode, so it imports only the standard library.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

MARK = "LAB_PULUMI_RUN"
"""Environment variable of all processes of a run, with the path of its temporary folder."""

_GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""

_POLL_INTERVAL = 0.1
_QUIET_PERIOD = 0.5
"""Seconds without a process after which a run has ended: during `execve`, a process has no environment to read."""

_CANNOT_RUN = 126
"""Exit code of shells for a program that cannot be run."""


def launch(program: str, runs: Path, arguments: Sequence[str]) -> NoReturn:
    """Become `pulumi`.

    Args:
        program: path of the engine.
        runs: folder of the runs' temporary folders.
        arguments: those of `pulumi`.
    """
    runs.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=runs))
    # It still refers to this process after `execve`, and never to another process.
    engine = os.pidfd_open(os.getpid())
    keeper = os.fork()
    if keeper == 0:
        _keep(engine, folder)
    os.waitpid(keeper, 0)
    try:
        os.execve(program, [program, *arguments], os.environ | {"TMPDIR": str(folder), MARK: str(folder)})
    except OSError as error:
        print(f"error: cannot run {program}: {error.strerror}\nremedy: `make start` installs it", file=sys.stderr)
        sys.exit(_CANNOT_RUN)


def processes(folder: Path) -> list[int]:
    """Ids of the processes of a run, by its temporary folder, or of all runs below a folder."""
    wanted = f"{MARK}={folder}".encode()
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdecimal()
        and any(line == wanted or line.startswith(wanted + b"/") for line in _environment(entry))
    ]


def end(folder: Path) -> None:
    """End the processes of a run, or of all runs below a folder: first with SIGTERM, then with SIGKILL.

    It does not wait for processes that the kernel cannot end, as on a file system that hangs.
    """
    begin = last_seen = now = time.monotonic()
    asked: set[int] = set()
    while now < min(begin + 2 * _GRACE, last_seen + _QUIET_PERIOD):
        late = now > begin + _GRACE
        left = processes(folder)
        for process in left:
            if late or process not in asked:
                _signal(process, signal.SIGKILL if late else signal.SIGTERM)
        asked.update(left)
        time.sleep(_POLL_INTERVAL)
        now = time.monotonic()
        last_seen = now if left else last_seen
    # On a machine that was busy or stood still, the time may have passed without a late look.
    for process in processes(folder):
        _signal(process, signal.SIGKILL)


def _keep(engine: int, folder: Path) -> NoReturn:
    """Wait for the end of the engine, then clean up, in a process that gets no signals of its group and terminal."""
    os.setsid()
    # So that no process has it as a child and waits for it.
    if os.fork():
        os._exit(0)
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nowhere, descriptor)
        # So that readers of the output of `pulumi`, or processes that wait for its locks, do not wait for this one.
        inherited = [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]
        for descriptor in inherited:
            if descriptor > 2 and descriptor != engine:
                _close(descriptor)
        os.chdir("/")
        select.select([engine], [], [])
        end(folder)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os._exit(0)


def _environment(process: Path) -> list[bytes]:
    """The variables of a process; empty if it is another user's or has ended."""
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # that of the listed folder itself
        os.close(descriptor)


def _signal(process: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


if __name__ == "__main__":
    _, _program, _runs, *_arguments = sys.argv
    launch(_program, Path(_runs), _arguments)
