"""Updates that are killed, as by `kill -9` or the end of a CI job: between an operation and its record in the state."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from lab.pulumi import CLI
from lab.pulumi_state import damaged_state
from tests.support.lab import Lab
from tests.support.project import Project

EFFECT_TIMEOUT_SECONDS = 30.0
# Time for the engine to send the request that it has just announced.
_MOMENT_SECONDS = 0.02
# Time for a plugin to finish its last request; an object of the API server takes some milliseconds.
_GRACE_SECONDS = 0.4


def kill_at(
    lab: Lab, project: Project, command: str, stack: str, moment: str, effect: Callable[[], object] | None = None
) -> str:
    """Begin an update, kill it with all its processes at a moment, and break its lock; returns what it had printed.

    The engine stops at that moment and its plugins do not: its last request is carried out, but not recorded.

    Args:
        lab: the lab.
        project: the project.
        command: `up` or `destroy`.
        stack: name of the stack.
        moment: pattern of the line that tells of the moment, e.g. `Namespace flux-system creating`.
        effect: true once the plugin has done as much as is to be left; by default it gets a moment.
    """
    printed = ""
    pulumi = lab.pulumi
    with tempfile.TemporaryDirectory(dir=pulumi.folder) as temporary:
        arguments = [str(pulumi.bin / CLI), command, "--yes", "--skip-preview", "--stack", stack, "--non-interactive"]
        path = f"{pulumi.bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        engine = subprocess.Popen(
            arguments,
            cwd=project.folder,
            env={**os.environ, **pulumi.environment(), "PATH": path, "TMPDIR": temporary},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert engine.stdout is not None  # as it is with a pipe
        try:
            for line in engine.stdout:
                printed += line
                if re.search(moment, line):
                    _stop_after(engine, effect)
                    break
            else:
                raise AssertionError(f"{moment!r} was never seen:\n{printed}")
        finally:
            _kill(engine)
    cancelled = project.run("cancel", "--yes", "--stack", stack)
    backend = Path(pulumi.environment()["PULUMI_BACKEND_URL"].removeprefix("file://"))
    if (damaged := damaged_state(backend)) is not None:
        # The engine was killed while it wrote the state; the lab names the way back.
        command = re.findall(r"`((?:cp|rm) [^`]+)`", damaged.remedy)[0]
        subprocess.run(shlex.split(command), check=True)
        cancelled = project.run("cancel", "--yes", "--stack", stack)
    assert cancelled.succeeded, cancelled.text
    return printed


def _stop_after(engine: subprocess.Popen[str], effect: Callable[[], object] | None) -> None:
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


def _kill(engine: subprocess.Popen[str]) -> None:
    """Kill the engine and all processes that it started, by their ids."""
    with suppress(psutil.NoSuchProcess):
        # Stopped, so that it starts nothing more meanwhile.
        engine.send_signal(signal.SIGSTOP)
        for process in psutil.Process(engine.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()
    engine.kill()
    engine.wait()
    if engine.stdout is not None:
        engine.stdout.close()
