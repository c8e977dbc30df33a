"""Updates that are killed, as by `kill -9` or the end of a CI job: between an operation and its record in the state."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from dev.lab.pulumi import CLI, LabPulumi
from dev.lab.pulumi_state import damaged_state
from tests.support.lab import Lab
from tests.support.project import Project

EFFECT_TIMEOUT_SECONDS = 30.0
# Time for the engine to send the request that it has just announced.
_MOMENT_SECONDS = 0.02
# Time for a plugin to finish its last request; an object of the API server takes some milliseconds.
_GRACE_SECONDS = 0.4


def kill_at(
    lab: Lab,
    project: Project,
    command: str | Sequence[str],
    stack: str,
    moment: str,
    effect: Callable[[], object] | None = None,
    nth: int = 1,
) -> str:
    """Begin an update, kill it with all its processes at a moment, and break its lock; returns what it had printed.

    The engine stops at that moment and its plugins do not: its last request is carried out, but not recorded.

    Args:
        lab: the lab.
        project: the project.
        command: `up` or `destroy` of Pulumi, or the arguments of a process that runs Pulumi.
        stack: name of the stack.
        moment: pattern of the line that tells of the moment, e.g. `Namespace flux-system creating`.
        effect: true once the plugin has done as much as is to be left; by default it gets a moment.
        nth: the number of the line among those that have the pattern.
    """
    pulumi = lab.pulumi
    if isinstance(command, str):
        options = ["--yes", "--skip-preview", "--stack", stack, "--non-interactive"]
        command = [str(pulumi.bin / CLI), command, *options]
    printed = kill_process(pulumi, project, command, moment, effect, nth)
    cancelled = project.run("cancel", "--yes", "--stack", stack)
    backend = Path(pulumi.environment()["PULUMI_BACKEND_URL"].removeprefix("file://"))
    if (damaged := damaged_state(backend)) is not None:
        # The engine was killed while it wrote the state; the lab names the way back.
        way_back = re.findall(r"`((?:cp|rm) [^`]+)`", damaged.remedy)[0]
        subprocess.run(shlex.split(way_back), check=True)
        cancelled = project.run("cancel", "--yes", "--stack", stack)
    assert cancelled.succeeded, cancelled.text
    return printed


def kill_process(
    pulumi: LabPulumi,
    project: Project,
    command: Sequence[str],
    moment: str,
    effect: Callable[[], object] | None = None,
    nth: int = 1,
) -> str:
    """Begin a process that runs Pulumi, and kill it as `kill_at`; its lock stays. Returns what it had printed."""
    printed = ""
    with tempfile.TemporaryDirectory(dir=pulumi.folder) as temporary:
        started = subprocess.Popen(
            command,
            cwd=project.folder,
            env={**os.environ, **pulumi.on_path(), "TMPDIR": temporary},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert started.stdout is not None  # as it is with a pipe
        seen = 0
        try:
            for line in started.stdout:
                printed += line
                seen += bool(re.search(moment, line))
                if seen == nth:
                    # It may just have ended by itself: a command can run two updates.
                    with suppress(psutil.NoSuchProcess):
                        _stop_after(_engine(started), effect)
                    break
            else:
                raise AssertionError(f"{moment!r} was not seen {nth} times:\n{printed}")
        finally:
            _kill(started)
    return printed


def _engine(started: subprocess.Popen[str]) -> psutil.Process:
    """The process of Pulumi's engine: the one that was started, or one that it has started; without one, the former."""
    first = psutil.Process(started.pid)
    return next((each for each in (first, *first.children(recursive=True)) if each.name() == CLI), first)


def _stop_after(engine: psutil.Process, effect: Callable[[], object] | None) -> None:
    """Let the engine ask its plugins and no more: it gets moments, and they get the time between these."""
    deadline = time.monotonic() + EFFECT_TIMEOUT_SECONDS
    while True:
        engine.send_signal(signal.SIGCONT)
        time.sleep(_MOMENT_SECONDS)
        engine.send_signal(signal.SIGSTOP)
        time.sleep(_GRACE_SECONDS)
        if effect is None or effect():
            return
        assert time.monotonic() < deadline, "the plugin has not done what it was asked for"


def _kill(started: subprocess.Popen[str]) -> None:
    """Kill a process and all processes that it started, by their ids."""
    with suppress(psutil.NoSuchProcess):
        # Stopped, so that it starts nothing more meanwhile.
        started.send_signal(signal.SIGSTOP)
        for process in psutil.Process(started.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()
    started.kill()
    started.wait()
    if started.stdout is not None:
        started.stdout.close()
