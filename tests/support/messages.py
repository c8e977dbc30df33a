"""All messages of the product, read from its source files, and as the program says them, by code.

So tests do not repeat their words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import Any

from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.installs.capsule import CAPSULE
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.installs.product import Product

ROOT = Path(__file__).parents[2]
# Installed by a chart: a message with the area of a `product` in its code is said of each.
_PRODUCTS = (CAPSULE, KYVERNO)


@dataclass(frozen=True)
class Slot:
    """A value in a message.

    Attributes:
        source: the expression that the program shows, or the name of a field of a `Wording`.
        conversion: `r` or `s` as in `{value!r}`, or empty.
        format: as in `{value:.0f}`, or empty.
    """

    source: str
    conversion: str = ""
    format: str = ""


Names = Mapping[str, Any]

Template = tuple[str | Slot, ...]
"""A sentence: literal text and slots."""


@dataclass(frozen=True)
class MessageText:
    """A message of the product.

    Attributes:
        remedy: what to do about it; empty where the text says it.
    """

    code: str
    text: Template
    remedy: Template = ()

    @property
    def problem(self) -> str:
        """What is wrong, with `…` in place of its values."""
        return _elided(self.text)

    @property
    def advice(self) -> str:
        """What to do about it, with `…` in place of its values."""
        return _elided(self.remedy)


@cache
def read_messages() -> dict[str, MessageText]:
    """All messages by code, in the order of the codes.

    Raises:
        ValueError: two messages have the same code.
    """
    found: dict[str, MessageText] = {}
    for each in _in_source_files():
        if each.code in found:
            raise ValueError(f"{each.code} is the code of two messages")
        found[each.code] = each
    return dict(sorted(found.items()))


def _elided(template: Template) -> str:
    return "".join("…" if isinstance(part, Slot) else part for part in template)


def _in_source_files() -> Iterator[MessageText]:
    for file in sorted((ROOT / "flux_tenancy").rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        if '"FT-' not in source:
            continue
        module = vars(import_module(".".join(file.relative_to(ROOT).with_suffix("").parts)))
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            if node.func.id not in ("Message", "Wording"):
                continue
            first, *sentences = node.args
            for names in _names(first, module):
                yield MessageText(_text(first, names), *(_template(each, names, node.func.id) for each in sentences))


def _names(code: ast.expr, module: Names) -> list[Names]:
    """What the values of a message are read from: its module, and each product if the code has a product's area."""
    if isinstance(code, ast.JoinedStr):
        return [{**module, "product": each} for each in _PRODUCTS]
    return [module] if isinstance(code, ast.Constant) and code.value else []


def _template(node: ast.expr, names: Names, kind: str) -> Template:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    found: list[str | Slot] = []
    for part in parts:
        value = part.value if isinstance(part, ast.FormattedValue) else part
        if not isinstance(value, ast.Constant) and not _is_constant(value, names):
            slot = (_conversion(part), _format(part)) if isinstance(part, ast.FormattedValue) else ()
            found.append(Slot(ast.unparse(value), *slot))
            continue
        text = _text(value, names)
        found += _fields(text) if kind == Wording.__name__ else (text,)
    return tuple(found)


def _is_constant(node: ast.expr, names: Names) -> bool:
    """Whether an expression is a string constant of its module, such as the end of several remedies, or a product's."""
    name = node.value if isinstance(node, ast.Attribute) else node
    known = isinstance(name, ast.Name) and (name.id.isupper() or isinstance(names.get(name.id), Product))
    return known and isinstance(_text(node, names), str)


def _text(node: ast.expr, names: Names) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    text: str = eval(ast.unparse(node), {**names})
    return text


def _conversion(part: ast.FormattedValue) -> str:
    return chr(part.conversion) if part.conversion > 0 else ""


def _format(part: ast.FormattedValue) -> str:
    return ast.unparse(part.format_spec)[2:-1] if part.format_spec is not None else ""


def _fields(text: str) -> Template:
    """A text for `str.format` as a template."""
    found: list[str | Slot] = []
    for literal, name, spec, conversion in Formatter().parse(text):
        found += [literal] if literal else []
        found += [Slot(name, conversion or "", spec or "")] if name is not None else []
    return tuple(found)


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
