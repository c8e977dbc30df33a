"""The error that the lab's commands show to users."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

INTERRUPTED = 130
"""Exit code that a shell reports for a command that was interrupted with Ctrl-C."""


class LabError(Exception):
    """Something that the user can fix.

    Attributes:
        message: what is wrong, with the file, port or path.
        remedy: what to do next.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}"


@contextlib.contextmanager
def reported(after_interrupt: str = "run the same command again to continue") -> Iterator[None]:
    """End the program with two lines if a command fails, and with one if it is interrupted with Ctrl-C.

    Args:
        after_interrupt: the state after an interrupt, or what to do then.
    """
    try:
        yield
    except LabError as error:
        print(f"error: {error.message}\nremedy: {error.remedy}", file=sys.stderr)
        raise SystemExit(1) from error
    except KeyboardInterrupt as interrupt:
        print(f"interrupted; {after_interrupt}", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from interrupt
