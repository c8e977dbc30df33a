"""pydantic's errors in the words of the files that the user edits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic_core import ErrorDetails

from components.config.errors import SecretValueError
from components.config.section import Section, section_in
from components.stack.config import StackConfig

_EXPECTED = {
    "string_type": "a string",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}

_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
}


def dotted(path: tuple[str | int, ...]) -> str:
    """A path as `pulumi config set --path` takes it, e.g. `tenants.dev-team.namespaces[0].name`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part != "[key]":
            text += f".{part}" if text else part
    return text


def message(error: ErrorDetails, show_input: bool) -> str:
    """One sentence for one error. `show_input` is False where the value may be a secret."""
    kind, value = error["type"], error.get("input")
    if kind in ("extra_forbidden", "invalid_key"):
        return "is an unknown key" + _suggestion(str(error["loc"][-1]), section_at(error["loc"][:-1]))
    if kind == "missing":
        return "is required and missing"
    if kind == "value_error":
        reason = error["ctx"]["error"]
        is_shown = isinstance(value, str | int | float) and not isinstance(value, bool)
        show_input = show_input and is_shown and not isinstance(reason, SecretValueError)
        return f"{value!r} {reason}" if show_input else str(reason)
    if kind in ("enum", "literal_error"):
        choices = error["ctx"]["expected"]
        return f"{_shown(value, show_input)} is not one of {choices}{_choice(value, choices)}"
    if kind in _EXPECTED:
        remedy = _remedy(kind, value, section_at(error["loc"]), show_input)
        return f"must be {_EXPECTED[kind]}, got {_shown(value, show_input)}{remedy}"
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return f"must be {words} {error['ctx'][bound]}, got {_shown(value, show_input)}"
    if kind == "too_short":
        return "must not be empty"
    return error["msg"]


def section_at(path: tuple[str | int, ...]) -> type[Section] | None:
    """The section that a path of the stack leads to, or several of which; None where it leads to another value."""
    section: type[Section] | None = StackConfig
    several = False
    for part in path:
        if part == "[key]":
            continue
        if several:  # a name or number among them
            several = False
            continue
        fields = section.model_fields if section is not None else {}
        field = next((field for name, field in fields.items() if part in (field.alias, name)), None)
        section, kind = section_in(field.annotation) if field is not None else (None, None)
        several = section is not None and kind is not None
    return section


def _remedy(kind: str, value: Any, section: type[Section] | None, show_input: bool) -> str:
    """What to write instead of a value of another type, where the type does not say it by itself."""
    if section is not None and kind == "model_type":
        required = [field.alias or name for name, field in section.model_fields.items() if field.is_required()]
        return f"; write its keys below it: {', '.join(required or _keys_of(section))}"
    if value is None:
        return "; give it a value, or take the key out"
    if kind == "string_type" and isinstance(value, bool | int | float):
        return "; put it in quotes"
    if kind == "tuple_type" and section is None and isinstance(value, str) and show_input:
        return f"; write [{value!r}]"
    return ""


def _choice(value: Any, choices: str) -> str:
    if isinstance(value, bool):
        return "; put it in quotes"
    by_lower_case = {choice.lower(): choice for choice in re.findall("'([^']*)'", choices)}
    close = get_close_matches(str(value).lower(), by_lower_case, n=1, cutoff=0.8)
    return f"; did you mean {by_lower_case[close[0]]!r}?" if close else ""


def _shown(value: Any, show_input: bool) -> str:
    if show_input and (value is None or isinstance(value, bool)):
        return {None: "nothing", True: "true", False: "false"}[value]
    if show_input and isinstance(value, str | int | float):
        return repr(value)
    names: dict[type, str] = {dict: "a mapping", list: "a list"}
    return names.get(type(value), "this value")


def _suggestion(key: str, section: type[Section] | None) -> str:
    """The key that was meant: one of the same section, one below it, or one of another section."""
    if section is not None and key in section.removed_keys:
        return f"; take it out: {section.removed_keys[key]}"
    here = _keys_of(section) if section is not None else ()
    if close := get_close_matches(key, here, n=1, cutoff=0.7):
        return f"; did you mean {close[0]!r}?"
    if below := [path for path in _paths_of(section) if path[-1] == key] if section is not None else []:
        return f" here; did you mean {dotted(min(below, key=len))}?"
    if key in _known_keys():
        return " here; it belongs to another section"
    if close := get_close_matches(key, _known_keys(), n=1, cutoff=0.7):
        return f"; did you mean {close[0]!r}?"
    return f"; the keys here are {', '.join(here)}" if here and section is not StackConfig else ""


def _keys_of(section: type[Section]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in section.model_fields.items())


def _paths_of(section: type[Section]) -> Iterator[tuple[str, ...]]:
    """The paths of all keys below a section, but for those in lists and below names."""
    for name, field in section.model_fields.items():
        model, kind = section_in(field.annotation)
        if model is not None and kind is None:
            yield from ((field.alias or name, *path) for path in ((key,) for key in _keys_of(model)))
            yield from ((field.alias or name, *path) for path in _paths_of(model))


@cache
def _known_keys() -> tuple[str, ...]:
    schema = StackConfig.model_json_schema()
    sections = [schema, *schema["$defs"].values()]
    return tuple(sorted({key for section in sections for key in section.get("properties", ())}))
