"""Lists of names in sentences."""

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
