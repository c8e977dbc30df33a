"""Text from clusters, tenants and servers, made safe for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """A text on one line, without characters that control a terminal or start a line.

    Control characters (C0 and C1, so all escape sequences), marks of direction and of no width, line and paragraph
    separators and lone surrogates each become a space; white space is folded.

    Source: https://docs.python.org/3/library/stdtypes.html#str.isprintable
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def without_controls(text: str) -> str:
    """A text of several lines, in which every character that controls a terminal has become a space."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
