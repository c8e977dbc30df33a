"""Values that are there by construction, where a type cannot say so."""

from __future__ import annotations

from typing import TypeVar

_Value = TypeVar("_Value")


class BrokenInvariantError(RuntimeError):
    """The program is wrong, not its user."""


def present(value: _Value | None, because: str) -> _Value:
    """The value, which is there.

    Args:
        value: the value.
        because: why it is there.

    Raises:
        BrokenInvariantError: it is None.
    """
    if value is None:
        raise BrokenInvariantError(f"nothing is there, although {because}")
    return value
