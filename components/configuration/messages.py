"""pydantic's errors in the words of the files that the user edits."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic_core import ErrorDetails

from components.configuration.errors import SecretValueError
from components.configuration.models import StackConfig

_EXPECTED = {
    "string_type": "a text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
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
        return "is an unknown key" + _suggestion(str(error["loc"][-1]))
    if kind == "missing":
        return "is required and missing"
    if kind == "value_error":
        reason = error["ctx"]["error"]
        show_input = show_input and isinstance(value, str) and not isinstance(reason, SecretValueError)
        return f"{value!r} {reason}" if show_input else str(reason)
    if kind in ("enum", "literal_error"):
        return f"{_shown(value, show_input)} is not one of {error['ctx']['expected']}"
    if kind in _EXPECTED:
        return f"must be {_EXPECTED[kind]}, not {_shown(value, show_input)}"
    if kind == "too_short":
        return "must not be empty"
    return error["msg"]


def _shown(value: Any, show_input: bool) -> str:
    if show_input and (value is None or isinstance(value, bool)):
        return {None: "nothing", True: "true", False: "false"}[value]
    if show_input and isinstance(value, str | int | float):
        return repr(value)
    names: dict[type, str] = {dict: "a mapping", list: "a list"}
    return names.get(type(value), "this value")


def _suggestion(key: str) -> str:
    if key in _known_keys():
        return " here; it belongs to another section"
    close = get_close_matches(key, _known_keys(), n=1, cutoff=0.7)
    return f"; did you mean {close[0]!r}?" if close else ""


@cache
def _known_keys() -> tuple[str, ...]:
    schema = StackConfig.model_json_schema()
    sections = [schema, *schema["$defs"].values()]
    return tuple(sorted({key for section in sections for key in section.get("properties", ())}))
