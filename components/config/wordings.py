"""What the program says, each sentence with a code that stays when its words change.

A package defines its sentences in the modules `wordings.py` and `config_wordings.py` (those about the configuration).
docs/errors.md lists all of them (`make schemas`), and one golden file has their words. Everything else uses the codes,
including tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

WORDINGS: dict[str, Wording] = {}
"""All wordings that have been imported, by code."""

_PROJECT = Path(__file__).parents[2]


class Message(str):
    """A sentence with its code.

    Attributes:
        code: the stable code, e.g. `FT-CFG-012`; empty for what is not the program's own sentence.
        fields: the values in the sentence, by name.
    """

    code: str
    fields: Mapping[str, object]

    def __new__(cls, text: str, code: str = "", fields: Mapping[str, object] | None = None) -> Message:
        message = super().__new__(cls, text)
        message.code = code
        message.fields = dict(fields or {})
        return message

    def of(self, value: object) -> Message:
        """The same sentence with the value that it is about in front."""
        return Message(f"{value!r} {self}", self.code, {**self.fields, "value": value})


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
        template = f"{self.text}; {self.remedy}" if self.remedy else self.text
        return Message(template.format(**fields), self.code, fields)


def all_wordings() -> dict[str, Wording]:
    """Every wording of the product and of its commands by code, in the order of the codes."""
    for folder in ("components", "isolation", "operations", "review"):
        for file in sorted((_PROJECT / folder).rglob("*wordings.py")):
            import_module(".".join(file.relative_to(_PROJECT).with_suffix("").parts))
    return dict(sorted(WORDINGS.items()))


def joined(messages: Sequence[Message]) -> Message:
    """Several sentences about the same value, with the code of the first."""
    return Message("; ".join(messages), messages[0].code, messages[0].fields)


def message_of(error: BaseException) -> Message:
    """What an error says; `str(error)` would lose the code."""
    said = error.args[0] if error.args else ""
    return said if isinstance(said, Message) else Message(str(error))


def code_of(message: object) -> str:
    """The code of a message, or of the error that carries it; empty where it has none."""
    if isinstance(message, BaseException):
        return message_of(message).code
    return message.code if isinstance(message, Message) else ""
