"""Values and small expressions in CEL.

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping


def text(value: str) -> str:
    """A string literal."""
    # JSON writes a character beyond U+FFFF as two surrogates, which CEL refuses.
    written = (json.dumps(each)[1:-1] if each <= "\uffff" else f"\\U{ord(each):08x}" for each in value)
    return f'"{"".join(written)}"'


def texts(values: Iterable[str]) -> str:
    """A list of string literals."""
    return f"[{', '.join(map(text, values))}]"


def mapping(entries: Mapping[str, str]) -> str:
    """A map of string literals."""
    return f"{{{', '.join(f'{text(key)}: {text(value)}' for key, value in entries.items())}}}"


def boolean(value: bool) -> str:
    """A boolean literal."""
    return "true" if value else "false"


def field_of(parent: str, path: str) -> str:
    """A field as an optional value, for a path any part of which may be missing.

    Args:
        path: names of fields, joined by dots.
    """
    return "".join([parent, *(f".?{name}" for name in path.split("."))])


def unchanged(metadata: str) -> str:
    """CEL for whether an update leaves everything of a Flux object but its status and annotations as it is.

    Args:
        metadata: the field as an expression selects it, `metadata` or `?metadata`.
    """
    fields = ("?spec", *(f"{metadata}.?{each}" for each in ("labels", "finalizers", "ownerReferences")))
    return " && ".join(f"object.{each} == oldObject.{each}" for each in fields)


def joined(items: str) -> str:
    """The items of a list of strings, joined for a message."""
    return f"({items}).join(', ')"


def concatenated(*parts: str) -> str:
    """Expressions for strings, concatenated."""
    return " + ".join(parts)
