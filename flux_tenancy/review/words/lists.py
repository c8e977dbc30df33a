"""Lists: of names in sentences, and of lines that have to fit."""

from __future__ import annotations

from collections.abc import Sequence

_NAMED = 5
"""Names in a list that is part of a sentence; the rest is counted."""


def listed(names: Sequence[str], most: int = _NAMED) -> str:
    """Names as a part of a sentence: `a, b and c`, or `a, b and 7 more`."""
    shown, rest = list(names[:most]), len(names) - most
    if rest > 0:
        shown.append(f"{rest} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def fitting(lines: Sequence[str], room: int, more: str, order: Sequence[int] = ()) -> list[str]:
    """The lines that fit into this many bytes; if some do not, a line at the end says what is left out, in addition.

    Args:
        lines: the lines.
        room: bytes of them.
        more: says how many are left out.
        order: indexes of the lines, in the order in which they are kept; by default the first ones are kept.
    """
    kept = set[int]()
    for index in order or range(len(lines)):
        if (size := size_of(lines[index])) <= room:
            room -= size
            kept.add(index)
    left = len(lines) - len(kept)
    return [*(lines[index] for index in sorted(kept)), *([more.format(left)] if left else [])]


def size_of(text: str) -> int:
    """Bytes of a line or a paragraph, with its end."""
    return len(text.encode()) + 1
