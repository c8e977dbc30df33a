"""What the program says, each sentence with a code that stays when its words change.

docs/troubleshooting.md lists all of them (`make schemas`), and one golden file holds their words. Everything else goes
by the codes, tests included.
"""

from __future__ import annotations

from dataclasses import dataclass

WORDINGS: dict[str, Wording] = {}
"""All wordings that have been imported, by code."""


class Message(str):
    """A sentence with its code.

    Attributes:
        code: the stable code, e.g. `FT-CFG-012`; empty for what is not the program's own sentence.
    """

    code: str

    def __new__(cls, text: str, code: str = "") -> Message:
        message = super().__new__(cls, text)
        message.code = code
        return message


@dataclass(frozen=True)
class Wording:
    """How the program says one thing.

    Attributes:
        code: stable code, e.g. `FT-CFG-012`; it is never given to another sentence.
        text: what is wrong, as `str.format` takes it; the subject is the key that stands before it.
        remedy: what to do about it, as `str.format` takes it; empty where the text says it.
    """

    code: str
    text: str
    remedy: str = ""

    def __post_init__(self) -> None:
        assert self.code not in WORDINGS, f"{self.code} is taken"
        WORDINGS[self.code] = self

    def __call__(self, **fields: object) -> Message:
        """The sentence with these values."""
        return Message("; ".join(filter(None, (self.text, self.remedy))).format(**fields), self.code)


def code_of(message: object) -> str:
    """The code of a message, or of the error that carries it; empty where it has none."""
    if isinstance(message, BaseException):
        return code_of(message.args[0]) if message.args else ""
    return message.code if isinstance(message, Message) else ""
