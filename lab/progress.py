"""How far the building of the tools is: a live display on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_LINE_INTERVAL = 15.0
"""Seconds between two lines where nobody watches, as in a CI log."""


class BuildProgress(AbstractContextManager["BuildProgress"], Protocol):
    """Receives what happens while tools are built."""

    def start(self, tool: str, number: int, count: int) -> None:
        """A tool is begun: the ``number``-th of ``count`` that are missing."""

    def step(self, text: str, done: int = 0, total: int = 0) -> None:
        """What is done now, and where it can be counted, how many packages of how many are finished."""

    def finish(self, tool: str, seconds: float) -> None:
        """A tool is ready."""

    def say(self, text: str) -> None:
        """Something that is not part of a tool, e.g. that another build is waited for."""


class LiveProgress(BuildProgress):
    """A line that moves on a terminal, and one that stays for each finished tool."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("[bold]{task.fields[position]} {task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, position="", text="", visible=False)
        self._position = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def start(self, tool: str, number: int, count: int) -> None:
        self._position = f"{number}/{count}"
        self._progress.reset(self._task, total=None, description=tool, position=self._position, text="", visible=True)

    def step(self, text: str, done: int = 0, total: int = 0) -> None:
        self._progress.update(self._task, completed=done, total=total or None, text=_counted(text, done, total))

    def finish(self, tool: str, seconds: float) -> None:
        self._progress.console.print(f"{self._position} {tool} ready in {_duration(seconds)}")

    def say(self, text: str) -> None:
        self._progress.console.print(text)


class LineProgress(BuildProgress):
    """A line every 15 seconds, for logs."""

    def __init__(self, stream: TextIO, interval: float = _LINE_INTERVAL) -> None:
        self._stream = stream
        self._interval = interval
        self._state = ""
        self._prefix = ""
        self._started = time.monotonic()
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
        self._started = time.monotonic()
        self._prefix = f"[{number}/{count}] {tool}"
        self._state = ""
        self.say(f"{self._prefix}: begun")

    def step(self, text: str, done: int = 0, total: int = 0) -> None:
        self._state = _counted(text, done, total)

    def finish(self, tool: str, seconds: float) -> None:
        self._state = ""
        self.say(f"{self._prefix}: ready in {_duration(seconds)}")

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def _tick(self) -> None:
        while not self._stop.wait(self._interval):
            if state := self._state:
                self.say(f"{self._prefix}: {state}, {_duration(time.monotonic() - self._started)}")


def progress_for_standard_error() -> BuildProgress:
    """The display that suits standard error: live on a terminal, lines elsewhere."""
    console = Console(stderr=True)
    return LiveProgress(console) if console.is_terminal else LineProgress(sys.stderr)


def _counted(text: str, done: int, total: int) -> str:
    return f"{text}, {done} of {total} packages" if total else text


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
