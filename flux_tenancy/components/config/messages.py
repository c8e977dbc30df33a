"""What the program says: a sentence stands where it is said, with a code that stays when its words change. Text of
clusters, tenants and servers is made safe to show.

Whatever reads a message uses its code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

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


class Message(str):
    """A sentence with its code.

    Attributes:
        code: the stable code, e.g. `FT-CFG-602`, which is never given to another sentence; empty for what is not the
            program's own sentence.
        text: what is wrong; the subject is the key that stands before it.
        remedy: what to do about it; empty where the text says it.
    """

    code: str
    text: str
    remedy: str

    def __new__(cls, code: str, text: str, remedy: str = "") -> Message:
        message = super().__new__(cls, f"{text}; {remedy}" if remedy else text)
        message.code, message.text, message.remedy = code, text, remedy
        return message

    @property
    def sentence(self) -> Message:
        """The message without its remedy."""
        return Message(self.code, self.text)

    def of(self, value: object) -> Message:
        """The same sentence with the value that it is about in front."""
        return Message(self.code, f"{value!r} {self.text}", self.remedy)


@dataclass(frozen=True)
class Wording:
    """A sentence that is said at several places, or whose values come later.

    Attributes:
        code: as of a `Message`.
        text: as of a `Message`, as `str.format` takes it.
        remedy: as of a `Message`, as `str.format` takes it.
    """

    code: str
    text: str
    remedy: str = ""

    def __call__(self, **fields: object) -> Message:
        """The sentence with these values."""
        return Message(self.code, self.text.format(**fields), self.remedy.format(**fields))


def joined(messages: Sequence[Message]) -> Message:
    """Several sentences about the same value, with the code of the first."""
    return Message(messages[0].code, "; ".join(messages))


def message_of(error: BaseException) -> Message:
    """What an error says; `str(error)` would lose the code."""
    said = error.args[0] if error.args else ""
    return said if isinstance(said, Message) else Message("", str(error))


def code_of(message: object) -> str:
    """The code of a message, or of the error that carries it; empty where it has none."""
    if isinstance(message, BaseException):
        return message_of(message).code
    return message.code if isinstance(message, Message) else ""
