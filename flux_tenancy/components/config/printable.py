"""Text from clusters, tenants and servers, made safe to show."""

from __future__ import annotations

import re

HIDDEN = "(not shown)"
"""What stands for a secret in plain text."""
# A user of SSH is no secret; one of HTTP alone may be a token. A password may have an @.
_PASSWORD = re.compile(r"(://[^/\s:@\"'<>]*:)[^/\s\"'<>]+@")
_TOKEN = re.compile(r"(https?://)[^/\s:@\"'<>]+@", re.IGNORECASE)


def without_passwords(text: str) -> str:
    """A text in which the URLs have no credentials: `http://user:(not shown)@proxy.example.com:3128`.

    Source: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1
    """
    if "://" not in text:
        return text
    return _TOKEN.sub(rf"\1{HIDDEN}@", _PASSWORD.sub(rf"\1{HIDDEN}@", text))


def printable(text: str) -> str:
    """A text on one line, without characters that control a terminal or start a line, and without passwords in URLs.

    Control characters (C0 and C1, so all escape sequences), marks of direction and of no width, line and paragraph
    separators and lone surrogates each become a space; white space is folded.

    Source: https://docs.python.org/3/library/stdtypes.html#str.isprintable
    """
    return without_passwords(" ".join("".join(letter if letter.isprintable() else " " for letter in text).split()))


def without_controls(text: str) -> str:
    """A text of several lines without passwords in URLs, in which what controls a terminal has become a space."""
    return without_passwords("".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text))
