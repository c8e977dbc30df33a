"""Text of others on its way to a terminal: of the cluster, of tenants, of servers."""

from __future__ import annotations


def printable(text: str) -> str:
    """A text on one line, without what could steer a terminal or pass for a line of its own.

    Control characters (C0 and C1, so all escape sequences), marks of direction and of no width, line and paragraph
    separators and lone surrogates each become a space; white space is folded.

    Source: https://docs.python.org/3/library/stdtypes.html#str.isprintable
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
