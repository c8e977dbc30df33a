"""What the program says: a sentence stands where it is said, with a code that stays when its words change.

`operations.messages` finds all of them for `flux-tenancy explain`. Everything else uses codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class Message(str):
    """A sentence with its code.

    Attributes:
        code: the stable code, e.g. `FT-CFG-012`, which is never given to another sentence; empty for what is not the
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
