"""The one kind of error that the lab shows to people."""

from __future__ import annotations


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
