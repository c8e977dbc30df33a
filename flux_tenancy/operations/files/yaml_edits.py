"""Setting and removing values of a YAML file as a person would: every other line stays as it is, byte for byte.

Serializers, even those that keep comments, lay the whole file out anew: they drop blank lines, and move a comment with
the entry in front of it. So only the entry that differs is written anew, at the place where the parser has found it.
"""

from __future__ import annotations

from typing import Any

import yaml

from flux_tenancy.components.config.yaml_files import Dumper

Keys = tuple[str, ...]
_EMPTY = ("", "~", "null", "Null", "NULL", "{}")


class NotEditable(Exception):
    """The document has a layout in which this value cannot be changed by itself, e.g. an alias."""


def with_value(text: str, path: Keys, value: Any) -> str:
    """A document with a value at a path; mappings on the way that do not exist are created.

    Args:
        path: at least one key.
        value: a string, number, boolean, or a mapping or list of such.

    Raises:
        NotEditable: the document would not say this, or would say something else as well.
    """
    wanted = place = _load(text)
    for key in path[:-1]:
        if place.get(key) in (None, "{}"):
            place[key] = {}
        place = place[key]
        if not isinstance(place, dict):
            raise NotEditable
    place[path[-1]] = value
    return _edited(text, path, wanted)


def without(text: str, path: Keys, at_least: int = 1) -> str:
    """A document without the value at a path, and without the mappings around it that would be empty.

    Comments above it stay. A document without such a value is not changed.

    Args:
        path: at least one key.
        at_least: number of keys of a mapping that stays even if it is empty, as `{}`.

    Raises:
        NotEditable: the document would not say this, or would say something else as well.
    """
    wanted = _load(text)
    places = [wanted]
    for key in path:
        if not isinstance(places[-1], dict) or key not in places[-1]:
            return text
        places.append(places[-1][key])
    depth = len(path)
    while depth - 1 > at_least and len(places[depth - 1]) == 1:
        depth -= 1
    del places[depth - 1][path[depth - 1]]
    return _edited(text, path[:depth], wanted)


def _edited(before: str, path: Keys, wanted: Any) -> str:
    """A document with this content, which differs at a path: the last entry on the way that has lines of its own."""
    if before.count("\r\n") not in (0, before.count("\n")):
        raise NotEditable
    text = before.replace("\r\n", "\n")
    text = text if text.endswith("\n") else f"{text}\n"
    block, content = yaml.compose(text, yaml.SafeLoader), wanted
    for depth, key in enumerate(path, 1):
        if not isinstance(block, yaml.MappingNode) or block.flow_style:
            raise NotEditable
        entry = next((each for each in block.value if each[0].value == key), None)
        if entry is None:
            after = _inserted(text, block, key, content[key]) if key in content else text
            break
        if key not in content:
            after = _removed(text, block, entry)
            break
        content = content[key]
        if depth == len(path) or not isinstance(entry[1], yaml.MappingNode) or entry[1].flow_style:
            after = _replaced(text, entry, content)
            break
        block = entry[1]
    if _load(after) != wanted:
        raise NotEditable
    return after.replace("\n", "\r\n") if "\r\n" in before else after


def _inserted(text: str, block: yaml.MappingNode, key: str, value: Any) -> str:
    """With a new last entry of a block."""
    at = _next_line(text, _end(text, block))
    return text[:at] + _lines({key: value}, block.value[0][0].start_mark.column) + text[at:]


def _removed(text: str, block: yaml.MappingNode, entry: tuple[Any, Any]) -> str:
    key, value = entry
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    rest = text[_next_line(text, _end(text, value)) :]
    if len(block.value) > 1:
        return text[:start] + rest
    # The mapping stays, as an empty one on the line of its own key.
    return text[:start].rstrip("\n") + " {}\n" + rest


def _replaced(text: str, entry: tuple[Any, Any], value: Any) -> str:
    """With another value of an entry, whose comments stay."""
    key, old = entry
    start, end = old.start_mark.index, _end(text, old)
    _, _, below = _lines({key.value: value}, key.start_mark.column).partition("\n")
    if isinstance(old, yaml.CollectionNode) and not old.flow_style:
        return text[: _next_line(text, key.end_mark.index)] + below + text[_next_line(text, end) :]
    if "\n" in text[start:end] and "#" in text[start:end] and isinstance(old, yaml.CollectionNode):
        raise NotEditable
    if value and isinstance(value, dict) and (not old.value or old.value in _EMPTY):
        line = _next_line(text, end)
        before = text[:start].rstrip(" ") if end > start else text[:start]
        return f"{before}{text[end : line - 1].rstrip(' ')}\n{below}{text[line:]}"
    is_quoted = isinstance(old, yaml.ScalarNode) and old.style in ("'", '"') and isinstance(value, str)
    # What is empty has no space in front of it.
    space = "" if text[start - 1].isspace() else " "
    return text[:start] + space + _dumped(value, flow=True, quotes=old.style if is_quoted else None) + text[end:]


def _next_line(text: str, index: int) -> int:
    return text.index("\n", index) + 1


def _end(text: str, node: yaml.Node) -> int:
    """Where a node really ends: the parser's end of a block is where the next one starts, behind comments."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return len(text[:end].rstrip("\n")) if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">") else end


def _lines(value: Any, column: int) -> str:
    return "".join(f"{' ' * column}{line}\n" for line in _dumped(value).splitlines())


def _dumped(value: Any, flow: bool = False, quotes: str | None = None) -> str:
    text: str = yaml.dump(
        value,
        Dumper=Dumper,
        default_flow_style=flow,
        default_style=quotes,
        sort_keys=False,
        width=2**20,
        allow_unicode=True,
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _load(text: str) -> Any:
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError:
        raise NotEditable from None
    if not isinstance(found, dict):
        raise NotEditable
    return _unshared(found)


def _unshared(value: Any) -> Any:
    """With a copy of what an anchor names for each alias, so that a change of one shows that the other changed too."""
    if isinstance(value, dict):
        return {key: _unshared(child) for key, child in value.items()}
    return [_unshared(child) for child in value] if isinstance(value, list) else value
