"""The one kind of error that the lab shows to people, and how commands show it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

INTERRUPTED = 130
"""Exit code that a shell reports for a command that Ctrl-C has ended."""


class LabError(Exception):
    """Something that the user can put right.

    Attributes:
        message: one sentence that names the file, port or path.
        remedy: what to do next, as an instruction.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}"


@contextlib.contextmanager
def reported(after_interrupt: str = "run the same command again to go on") -> Iterator[None]:
    """End the program with two lines for people where a command fails, with one where Ctrl-C ends it.

    Args:
        after_interrupt: what follows from the interrupt, or what to do then.
    """
    try:
        yield
    except LabError as error:
        print(f"error: {error.message}\nremedy: {error.remedy}", file=sys.stderr)
        raise SystemExit(1) from error
    except KeyboardInterrupt as interrupt:
        print(f"interrupted; {after_interrupt}", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from interrupt
