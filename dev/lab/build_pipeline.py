"""Runs the builds of several tools so that all cores are busy.

Compiling uses all cores; listing the packages of a tool and linking use little more than one. So later tools are
prepared while earlier ones are compiled, and a tool is compiled while the previous one is linked. Two tools are never
compiled at the same time, since packages that both contain would be compiled twice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from dev.lab.build_tool import Prepared, ToolBuild
from dev.lab.go_command import Go, GoStopped
from dev.lab.progress import BuildProgress

_AT_ONCE = 2
"""Tools that are compiled or linked at the same time. A third one would take memory while it waits for a core."""

_LOOK_UP_SECONDS = 1.0
"""How often the waiting thread checks for an interrupt: one that reaches another thread does not wake it up."""


def run_all(go: Go, builds: Sequence[ToolBuild], progress: BuildProgress) -> list[Path]:
    """Builds tools in their order.

    Args:
        go: the Go command of the builds; it is stopped when one of them fails.

    Returns:
        Each tool's file, in the same order.

    Raises:
        LabError: of the build that failed first. All others are stopped; their compiled packages are kept.
    """
    files: list[Future[Path]] = []
    with ThreadPoolExecutor(1) as preparing, ThreadPoolExecutor(_AT_ONCE) as building:
        try:
            # Preparing also downloads, which needs no processor, so it runs ahead as far as possible.
            ahead = [preparing.submit(build.prepare) for build in builds]
            for number, (build, prepared) in enumerate(zip(builds, ahead, strict=True), start=1):
                turn = _Turn(go, build, prepared, progress)
                files.append(building.submit(turn.run, number, len(builds)))
                while not turn.compiled.wait(_LOOK_UP_SECONDS):
                    pass
                if go.stopped:
                    break
            while wait(files, _LOOK_UP_SECONDS).not_done:
                pass
        except BaseException:
            go.stop()
            raise
        finally:
            preparing.shutdown(wait=False, cancel_futures=True)
    for file in files:
        if (error := file.exception()) and not isinstance(error, GoStopped | CancelledError):
            raise error
    return [file.result() for file in files]


@dataclass
class _Turn:
    """One tool's turn to be compiled.

    Attributes:
        compiled: set when the next tool may be compiled.
    """

    go: Go
    build: ToolBuild
    prepared: Future[Prepared]
    progress: BuildProgress
    compiled: Event = field(default_factory=Event)

    def run(self, number: int, count: int) -> Path:
        try:
            if self.go.stopped:
                raise GoStopped
            return self._run(number, count)
        except BaseException:
            self.go.stop()
            raise
        finally:
            self.compiled.set()

    def _run(self, number: int, count: int) -> Path:
        tool, begun = self.build.tool.name, time.monotonic()
        self.progress.start(tool, number, count)
        self.progress.step(tool, "reading modules")
        file = self.build.run(self.prepared.result(), self.compiled.set)
        self.progress.finish(tool, time.monotonic() - begun)
        return file
