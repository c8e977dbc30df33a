"""How far the building of the tools is: a live display on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

_LINE_INTERVAL = 15.0
"""Seconds between two lines where nobody watches, as in a CI log."""


class BuildProgress(AbstractContextManager["BuildProgress"], Protocol):
    """Receives what happens while tools are built, from any thread."""

    def start(self, tool: str, number: int, count: int) -> None:
        """A tool has its turn: the ``number``-th of ``count`` that are missing."""

    def step(self, tool: str, text: str, done: int = 0, total: int = 0) -> None:
        """What is done now, and where it can be counted, how many packages of how many at most.

        Of a tool that does not have its turn yet nothing is shown.
        """

    def finish(self, tool: str, seconds: float) -> None:
        """A tool is ready."""

    def say(self, text: str) -> None:
        """Something that is not part of a tool, e.g. that another build is waited for."""


class LiveProgress(BuildProgress):
    """A line that moves on a terminal for each tool at work, and one that stays for each finished tool."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("[bold]{task.fields[position]} {task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}
        self._positions: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def start(self, tool: str, number: int, count: int) -> None:
        self._positions[tool] = f"{number}/{count}"
        self._tasks[tool] = self._progress.add_task(tool, total=None, position=self._positions[tool], text="")

    def step(self, tool: str, text: str, done: int = 0, total: int = 0) -> None:
        if tool in self._tasks:
            text = _counted(text, done, total)
            self._progress.update(self._tasks[tool], completed=done, total=total or None, text=text)

    def finish(self, tool: str, seconds: float) -> None:
        self._progress.remove_task(self._tasks.pop(tool))
        self._progress.console.print(f"{self._positions[tool]} {tool} ready in {_duration(seconds)}")

    def say(self, text: str) -> None:
        self._progress.console.print(text)


@dataclass
class _AtWork:
    """A tool at work.

    Attributes:
        begun: when its turn came, on the monotonic clock.
    """

    prefix: str
    begun: float
    state: str = ""


class LineProgress(BuildProgress):
    """A line every 15 seconds for each tool at work, for logs."""

    def __init__(self, stream: TextIO, interval: float = _LINE_INTERVAL) -> None:
        self._stream = stream
        self._interval = interval
        self._at_work: dict[str, _AtWork] = {}
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._ticker.join()

    def start(self, tool: str, number: int, count: int) -> None:
        prefix = f"[{number}/{count}] {tool}"
        self._at_work[tool] = _AtWork(prefix, time.monotonic())
        self.say(f"{prefix}: begun")

    def step(self, tool: str, text: str, done: int = 0, total: int = 0) -> None:
        if found := self._at_work.get(tool):
            found.state = _counted(text, done, total)

    def finish(self, tool: str, seconds: float) -> None:
        self.say(f"{self._at_work.pop(tool).prefix}: ready in {_duration(seconds)}")

    def say(self, text: str) -> None:
        # In one piece, since tools are at work in several threads.
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def _tick(self) -> None:
        while not self._stop.wait(self._interval):
            for tool in [tool for tool in self._at_work.copy().values() if tool.state]:
                self.say(f"{tool.prefix}: {tool.state}, {_duration(time.monotonic() - tool.begun)}")


def progress_for_standard_error() -> BuildProgress:
    """The display that suits standard error: live on a terminal, lines elsewhere."""
    console = Console(stderr=True)
    return LiveProgress(console) if console.is_terminal else LineProgress(sys.stderr)


def _counted(text: str, done: int, total: int) -> str:
    return f"{text}, {done} of up to {total} packages" if total else text


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
