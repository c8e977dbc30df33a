"""Errors in what the user wrote, collected and reported all at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from flux_tenancy.components.config.messages import Wording, code_of, without_controls

KeyPath = tuple[str | int, ...]
"""The path of a value in the configuration: keys and indices."""
MISSING = Wording("FT-CFG-605", "is required and missing", "add it")
NOT_A = Wording("FT-CFG-006", "is not {what}", "write it like {example}")
EXACTLY_ONE = Wording("FT-CFG-181", "needs exactly one of {keys}")
ONLY_ONE = Wording("FT-CFG-273", "sets {keys}", "keep one of them")
TWICE = Wording("FT-CFG-403", "lists {what} twice", "keep one of them")
WRONG = Wording("FT-CFG-609", "must be {wanted}, got {found}")
WRONG_TYPE = Wording("FT-CFG-610", "must be {wanted}, got {found}", "{remedy}")
UNKNOWN_KEY = Wording("FT-CFG-602", "is an unknown key", "{remedy}")
UNKNOWN = Wording("FT-CFG-404", "is not {what}", "choose one of these: {choices}")
RESERVED = Wording("FT-CFG-001", "is reserved for {owner}", "choose another name")
SET_BY = Wording("FT-CFG-402", "sets {what}, which {owner} sets itself", "remove it")
NOT_ALLOWED = Wording("FT-CFG-310", "sets {what}, which {owner} does not allow: {why}", "remove it")
BEYOND = Wording("FT-CFG-678", "is {beyond} than {bound} ({most})", "set {most} or {within}")
NO_EFFECT = Wording("FT-CFG-820", "has no effect: {reason}", "{remedy}")
# A key with one of these is quoted in a path.
_SPECIAL = frozenset('.[]" ')


def dotted(path: Iterable[str | int]) -> str:
    """A path as `pulumi config set --path` takes it, e.g. `spec.containers[manager].args[3]`.

    Args:
        path: keys; a number is the index of a list's item, a text in brackets the name of one.
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.startswith("["):
            text += part
        elif _SPECIAL & set(part):
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
        else:
            text += f".{part}" if text else part
    return text


@dataclass(frozen=True, order=True)
class Problem:
    """One error in what the user wrote, or in what it is applied to.

    Attributes:
        file: the file to open, relative to the project, e.g. `tenants/dev-team.yaml`.
        path: the key in the file, e.g. `sync.interval`; empty for the file as a whole.
        message: what is wrong and what to do, a `Message` where it has a code.
    """

    file: str
    path: str
    message: str

    @property
    def code(self) -> str:
        """The stable code of the message, e.g. `FT-CFG-602`."""
        return code_of(self.message)

    def __str__(self) -> str:
        where = f"{self.file}: {self.path}" if self.path else self.file
        return f"{where}: {coded(self.message)}"


class SecretValueError(ValueError):
    """A value is wrong that messages must not repeat, since it is or contains a secret."""


class MisplacedValueError(ValueError):
    """A value does not go with others; `path` leads to it from the section that contains them all."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.path = path


class ConfigurationError(Exception):
    """The stack cannot be applied as it is written; nothing has been registered or changed."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__(self.problems)

    def __str__(self) -> str:
        count = len(self.problems)
        headline = f"{count} error{'s' if count > 1 else ''}; nothing was applied:"
        return "\n".join([headline, *(f"  {problem}" for problem in self.problems)])


def coded(message: object) -> str:
    """A message, or that of an error, with its code in brackets at the end; a list that follows it stays below.

    Whatever a message quotes, it does not control the terminal that shows it.
    """
    text = without_controls(str(message))
    if not (code := code_of(message)):
        return text
    sentence, *listed = text.split("\n")
    if not listed:
        return f"{sentence} ({code})"
    return "\n".join([f"{sentence.removesuffix(':')} ({code}):", *listed])


UNREADABLE = (OSError, ValueError, RuntimeError)
"""What it raises to read a file that a user names, besides the system's errors: it is not UTF-8 text, the path has a
NUL, or `~` of an unknown user."""


def reason_of(error: Exception) -> str:
    """Why a file cannot be read, for a message."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return getattr(error, "strerror", None) or str(error)


_Value = TypeVar("_Value")


class BrokenInvariantError(RuntimeError):
    """The program is wrong, not its user."""


def present(value: _Value | None, because: str) -> _Value:
    """The value, which is there. Raises BrokenInvariantError: it is None."""
    if value is None:
        raise BrokenInvariantError(f"nothing is there, although {because}")
    return value
