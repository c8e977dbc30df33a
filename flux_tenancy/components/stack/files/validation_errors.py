"""pydantic's errors in the terms of the files that the user edits, each with its code."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic_core import ErrorDetails

from flux_tenancy.components.config.errors import (
    MISSING,
    UNKNOWN_KEY,
    WRONG,
    WRONG_TYPE,
    KeyPath,
    SecretValueError,
    dotted,
)
from flux_tenancy.components.config.messages import Message, message_of
from flux_tenancy.components.config.section import KIND, Section, kind_of, section_of_kind, sections_in
from flux_tenancy.components.config.types import EMPTY, as_written

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
    "model_attributes_type": "a mapping",
}
KEY = "[key]"
"""The last part of the path of pydantic's error that is about a key of a mapping instead of its value."""
_NO_KIND, _UNKNOWN_KIND = "union_tag_not_found", "union_tag_invalid"

_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
}


def message(error: ErrorDetails, show_input: bool) -> Message:
    """What to say about one error.

    Args:
        show_input: whether the message may repeat the value; False where it may be a secret.
    """
    kind, value, context = error["type"], value_of(error), error.get("ctx", {})
    shown = _shown(value, show_input)
    if kind in ("extra_forbidden", "invalid_key"):
        return _unknown_key(str(error["loc"][-1]), section_at(error["loc"][:-1]))
    if kind in ("missing", _NO_KIND):
        return MISSING()
    if kind == "value_error":
        return _refused(context["error"], value, show_input)
    if kind in ("enum", "literal_error", _UNKNOWN_KIND):
        return _not_one_of(value, shown, context["expected_tags" if kind == _UNKNOWN_KIND else "expected"])
    if kind in _EXPECTED:
        return _wrong_type(kind, value, shown, section_at(error["loc"]), show_input)
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        limit = f"{words} {context[bound]}"
        return WRONG(wanted=limit, found=shown)
    if kind in ("too_short", "string_too_short"):
        return EMPTY()
    return Message("FT-CFG-615", f"is not valid: {error['msg']}")


def section_at(path: KeyPath) -> type[Section] | None:
    """The section at a path of the stack, or in the list or mapping there; None where there is another value."""
    return _walk(path)[0]


def without_kinds(path: KeyPath) -> KeyPath:
    """The path of pydantic's error without the kinds by which it has told sections apart, as the files have it."""
    return _walk(path)[1]


def path_of(error: ErrorDetails) -> KeyPath:
    """The path in the stack of the value that an error is about."""
    path = without_kinds(error["loc"])
    return (*path, KIND) if error["type"] in (_NO_KIND, _UNKNOWN_KIND) else path


def value_of(error: ErrorDetails) -> Any:
    """The value that an error is about."""
    return error["ctx"]["tag"] if error["type"] == _UNKNOWN_KIND else error.get("input")


def whole_stack() -> type[Section]:
    """The section that has all others: importing it takes longer than most commands without an error."""
    from flux_tenancy.components.stack.config import StackConfig

    return StackConfig


def _walk(path: KeyPath) -> tuple[type[Section] | None, KeyPath]:
    section: type[Section] | None = whole_stack()
    several = False
    choices: tuple[type[Section], ...] = ()
    plain: list[str | int] = []
    for part in path:
        if part == KEY or several:  # a name or index
            several = several and part == KEY
            plain.append(part)
            continue
        if len(choices) > 1 and part in [kind_of(each) for each in choices]:
            section, choices = section_of_kind(choices, part), ()
            continue
        plain.append(part)
        fields = section.model_fields if section is not None else {}
        field = next((field for name, field in fields.items() if part in (field.alias, name)), None)
        choices, kind = sections_in(field.annotation) if field is not None else ((), None)
        section = section_of_kind(choices, None)
        several = section is not None and kind is not None
    return section, tuple(plain)


def _refused(error: ValueError, value: Any, show_input: bool) -> Message:
    """What a check of this program says, with the value in front where it may be repeated and fits on the line."""
    reason = message_of(error)
    is_short = isinstance(value, str | int | float) and not isinstance(value, bool)
    return (
        reason.of(as_written(value)) if show_input and is_short and not isinstance(error, SecretValueError) else reason
    )


def _wrong_type(kind: str, value: Any, shown: str, section: type[Section] | None, show_input: bool) -> Message:
    """What to write instead of a value of another type, where the type does not say it by itself."""
    if section is not None and kind == "model_type":
        required = [field.alias or name for name, field in section.model_fields.items() if field.is_required()]
        keys = ", ".join(required or _keys_of(section))
        return WRONG_TYPE(wanted="a mapping", found=shown, remedy=f"write its keys below it: {keys}")
    if value is None and show_input:
        return WRONG_TYPE(wanted=_EXPECTED[kind], found=shown, remedy="set a value, or remove the key")
    if kind == "string_type" and isinstance(value, bool | int | float):
        return Message(
            "FT-CFG-612",
            f"must be a string, got {shown}",
            "put it in quotes, or run `pulumi config set` with `--type string`",
        )
    if kind == "tuple_type" and section is None and isinstance(value, str) and show_input:
        return WRONG_TYPE(wanted="a list", found=shown, remedy=f"write [{shown}]")
    return WRONG(wanted=_EXPECTED[kind], found=shown)


def _not_one_of(value: Any, shown: str, choices: str) -> Message:
    by_lower_case = {choice.lower(): choice for choice in re.findall("'([^']*)'", choices)}
    close = get_close_matches(str(value).lower(), by_lower_case, n=1, cutoff=0.8)
    remedy = f"did you mean {by_lower_case[close[0]]!r}?" if close else ""
    return Message(
        "FT-CFG-606", f"{shown} is not one of {choices}", "put it in quotes" if isinstance(value, bool) else remedy
    )


def _shown(value: Any, show_input: bool) -> str:
    if show_input and (value is None or isinstance(value, bool)):
        return {None: "nothing", True: "true", False: "false"}[value]
    if show_input and isinstance(value, str | int | float):
        return repr(value)
    names: dict[type, str] = {dict: "a mapping", list: "a list"}
    return names.get(type(value), "this value")


def _unknown_key(key: str, section: type[Section] | None) -> Message:
    """Suggest the key that was meant: one of the same section, one below it, or one of another section."""
    if section is not None and key in section.removed_keys:
        return UNKNOWN_KEY(remedy=f"remove it: {section.removed_keys[key]}")
    here = _keys_of(section) if section is not None else ()
    if close := get_close_matches(key, here, n=1, cutoff=0.7):
        return UNKNOWN_KEY(remedy=f"did you mean {close[0]!r}?")
    if below := [path for path in _paths_of(section) if path[-1] == key] if section is not None else []:
        shortest = min(below, key=len)
        return UNKNOWN_KEY(remedy=f"did you mean {dotted(shortest)}?")
    if key in (places := _places()):
        return UNKNOWN_KEY(remedy=f"it belongs to {' or '.join(places[key][:2])}")
    if close := get_close_matches(key, places, n=1, cutoff=0.7):
        return UNKNOWN_KEY(remedy=f"did you mean {close[0]!r}?")
    known = f"the keys here are {', '.join(here)}" if here and section is not whole_stack() else ""
    return UNKNOWN_KEY(remedy=known or "remove it; docs/configuration.md has all keys")


def _keys_of(section: type[Section]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in section.model_fields.items())


def _paths_of(section: type[Section]) -> Iterator[tuple[str, ...]]:
    """The paths of all keys below a section, except in lists and mappings of names."""
    for name, field in section.model_fields.items():
        models, kind = sections_in(field.annotation)
        for model in models if kind is None else ():
            yield from ((field.alias or name, *path) for path in ((key,) for key in _keys_of(model)))
            yield from ((field.alias or name, *path) for path in _paths_of(model))


@cache
def _places() -> Mapping[str, tuple[str, ...]]:
    """The places of each key of a stack as messages name them, the shortest first."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, kind in _everywhere(whole_stack(), ()):
        place = dotted(path) if len(path) > 1 else "the stack itself"
        found[path[-1]].append(f"{place} of the kind {kind}" if kind else place)
    return {key: tuple(sorted(dict.fromkeys(places), key=len)) for key, places in found.items()}


def _everywhere(
    section: type[Section], above: tuple[type[Section], ...], kind: str = ""
) -> Iterator[tuple[tuple[str, ...], str]]:
    """The paths of all keys below a section, each with the kind of its own section where it is one of several."""
    for name, field in section.model_fields.items():
        key = field.alias or name
        yield (key,), kind
        models, container = sections_in(field.annotation)
        below = {dict: ("<name>",), tuple: ("[]",)}.get(container, ())
        for model in models if section not in above else ():
            own = (kind_of(model) or "") if len(models) > 1 else ""
            yield from (((key, *below, *path), of) for path, of in _everywhere(model, (*above, section), own))
