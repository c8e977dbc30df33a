"""Messages as the program says them, by code, so that tests do not repeat their words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from flux_tenancy.components.config.messages import Message
from flux_tenancy.operations.messages import Slot, Template, read_messages


def said(code: str, *values: object, **named: object) -> Message:
    """The message with this code.

    Args:
        code: its code.
        values: its values, in the order in which they first appear.
        named: instead, the values of a `Wording` by name.
    """
    message = read_messages()[code]
    shown = named or dict(zip(_sources(code), values, strict=True))
    return Message(code, _filled(message.text, shown), _filled(message.remedy, shown))


def values_of(message: Message) -> list[str]:
    """The values in a message, as it shows them, in the order in which they first appear."""
    known = read_messages()[message.code]
    template = (*known.text, "; ", *known.remedy) if known.remedy else known.text
    groups: dict[str, str] = {}
    pattern = ""
    for part in template:
        if isinstance(part, str):
            pattern += re.escape(part)
        elif part.source in groups:
            pattern += f"(?P={groups[part.source]})"
        else:
            groups[part.source] = f"value{len(groups)}"
            pattern += f"(?P<{groups[part.source]}>.*?)"
    found = re.fullmatch(pattern, message, re.DOTALL)
    assert found is not None, message
    return list(found.groups())


def _sources(code: str) -> list[str]:
    message = read_messages()[code]
    return list(dict.fromkeys(part.source for part in (*message.text, *message.remedy) if isinstance(part, Slot)))


def _filled(template: Template, values: Mapping[str, object]) -> str:
    return "".join(part if isinstance(part, str) else _shown(part, values[part.source]) for part in template)


def _shown(slot: Slot, value: object) -> str:
    return format(repr(value) if slot.conversion == "r" else value, slot.format)
