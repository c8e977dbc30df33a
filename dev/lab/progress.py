"""The progress of a build: a live display on a terminal, a line from time to time elsewhere."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

_LINE_INTERVAL = 15.0
"""Seconds between two lines for a tool where there is no terminal, as in a CI log."""


class BuildProgress:
    """Shows each tool that is being built; its methods may be called from any thread.

    Args:
        console: where it is shown; standard error by default.
        interval: seconds between two lines for a tool if ``console`` is not a terminal.
    """

    def __init__(self, console: Console | None = None, interval: float = _LINE_INTERVAL) -> None:
        self._console = console or Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[text]}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._names: dict[str, str] = {}
        self._interval = interval
        self._stop = threading.Event()
        self._lines = threading.Thread(target=self._print_lines, daemon=True)

    def __enter__(self) -> Self:
        self._progress.start()
        if self._progress.disable:
            self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        self._stop.set()
        if self._progress.disable:
            self._lines.join()

    def start(self, tool: str, number: int, count: int) -> None:
        """The build of a tool begins: the ``number``-th of ``count`` that are missing."""
        self._names[tool] = f"[{number}/{count}] {tool}"
        if self._progress.disable:
            self.say(f"{self._names[tool]}: started")
        self._tasks[tool] = self._progress.add_task(self._names[tool], total=None, text="")

    def step(self, tool: str, text: str, done: int = 0, total: int = 0) -> None:
        """What happens to a tool now, and how many of at most ``total`` packages are done, if they are counted.

        A tool whose build has not begun yet is not shown.
        """
        if tool in self._tasks:
            text += f", {done} of up to {total} packages" if total else ""
            self._progress.update(self._tasks[tool], completed=done, total=total or None, text=text)

    def finish(self, tool: str, seconds: float) -> None:
        """A tool is ready."""
        self._progress.remove_task(self._tasks.pop(tool))
        self.say(f"{self._names[tool]}: ready in {_duration(seconds)}")

    def say(self, text: str) -> None:
        """Print a line that is not part of the display."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _print_lines(self) -> None:
        while not self._stop.wait(self._interval):
            for task in self._progress.tasks:
                if task.fields["text"]:
                    self.say(f"{task.description}: {task.fields['text']}, {_duration(task.elapsed or 0)}")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
