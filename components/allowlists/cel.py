"""Values and small expressions in CEL.

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable


def text(value: str) -> str:
    """A string literal."""
    return json.dumps(value, ensure_ascii=True)


def texts(values: Iterable[str]) -> str:
    """A list of string literals."""
    return f"[{', '.join(map(text, values))}]"


def boolean(value: bool) -> str:
    """A literal of a truth value."""
    return "true" if value else "false"


def field_of(parent: str, path: str) -> str:
    """A field that may be missing on every step of its way, as an optional value.

    Args:
        parent: CEL for an object that is there.
        path: names of fields with dots between them.
    """
    return "".join([parent, *(f".?{name}" for name in path.split("."))])


def joined(items: str) -> str:
    """The items of a list of strings as one text for a message."""
    return f"({items}).join(', ')"


def concatenated(*parts: str) -> str:
    """One text of several expressions for text."""
    return " + ".join(parts)
