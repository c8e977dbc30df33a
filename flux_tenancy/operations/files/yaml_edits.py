"""Setting and removing values of a YAML file as a person would: every other line stays as it is, byte for byte.

Serializers, even those that keep comments, lay the whole file out anew: they drop blank lines, and move a comment with
the entry in front of it. So only the text of the value itself is changed, at the place where the parser has found it.
"""

from __future__ import annotations

from typing import Any

import yaml

from flux_tenancy.components.config.yaml_files import Dumper

Keys = tuple[str, ...]
_INDENT = 2
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
    edited = _newlines(text, _set(_ended(text), path, value))
    wanted = _load(text)
    place = wanted
    for key in path[:-1]:
        if place.get(key) in (None, "{}"):
            place[key] = {}
        place = place[key]
        if not isinstance(place, dict):
            raise NotEditable
    place[path[-1]] = value
    return _checked(edited, wanted)


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
    return _checked(_newlines(text, _removed(_ended(text), path[:depth])), wanted)


def _set(text: str, path: Keys, value: Any) -> str:
    keys: list[yaml.Node] = []
    node, rest = _root(text), path
    while rest and isinstance(node, yaml.MappingNode):
        entry = next((each for each in node.value if each[0].value == rest[0]), None)
        if entry is None:
            return _inserted(text, node, rest, value, keys[-1] if keys else None)
        keys.append(entry[0])
        node, rest = entry[1], rest[1:]
    if not keys or rest and isinstance(node, yaml.CollectionNode):
        raise NotEditable
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        return _relaid(text, node, keys[-1], value)
    # Only an empty value becomes a mapping, and a block of text ends behind its line.
    if rest and (node.value not in _EMPTY or node.style in ("|", ">")):
        raise NotEditable
    if rest and _is_inside_flow(text, keys[-1], node):
        return _replaced(text, node, _flow(_nested(rest, value)))
    if rest:
        return _opened(text, node, keys[-1], rest, value)
    # What is empty has no space in front of it.
    space = "" if text[node.start_mark.index - 1].isspace() else " "
    quotes = node.style if isinstance(node, yaml.ScalarNode) else None
    return _replaced(text, node, space + _flow(value, quotes))


def _relaid(text: str, block: yaml.Node, key: yaml.Node, value: Any) -> str:
    """With other lines below the key of a block; its own line stays, with a comment."""
    start, end = text.index("\n", key.end_mark.index) + 1, text.index("\n", _end(text, block)) + 1
    _, _, lines = _block({key.value: value}, key.start_mark.column).partition("\n")
    return text[:start] + lines + text[end:]


def _inserted(text: str, parent: yaml.MappingNode, rest: Keys, value: Any, key: yaml.Node | None) -> str:
    """With a new last entry of a mapping."""
    if parent.value and not parent.flow_style:
        at = text.index("\n", _end(text, parent)) + 1
        return text[:at] + _block(_nested(rest, value), parent.value[0][0].start_mark.column) + text[at:]
    if parent.value:
        at = _end(text, parent.value[-1][1])
        return f"{text[:at]}, {_flow(_nested(rest, value))[1:-1]}{text[at:]}"
    if key is None:
        raise NotEditable
    if _is_inside_flow(text, key, parent):
        return _replaced(text, parent, _flow(_nested(rest, value)))
    return _opened(text, parent, key, rest, value)


def _opened(text: str, empty: yaml.Node, key: yaml.Node, rest: Keys, value: Any) -> str:
    """With the first entry of a mapping that was empty, on a line of its own; a comment behind it stays."""
    start, end = empty.start_mark.index, empty.end_mark.index
    before = text[:start].rstrip(" ") if end > start else text[:start]
    after = text.index("\n", end)
    lines = _block(_nested(rest, value), key.start_mark.column + _INDENT)
    return f"{before}{text[end:after].rstrip(' ')}\n{lines}{text[after + 1 :]}"


def _removed(text: str, path: Keys) -> str:
    node = _root(text)
    for key in path[:-1]:
        node = node.value[_index(node, key)][1]
    index = _index(node, path[-1])
    key, value = node.value[index]
    if isinstance(node, yaml.MappingNode) and node.flow_style:
        start = _end(text, node.value[index - 1][1]) if index else key.start_mark.index
        end = _end(text, value)
        if not index and len(node.value) > 1:
            end = node.value[1][0].start_mark.index
        return text[:start] + text[end:]
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    end = text.index("\n", _end(text, value)) + 1
    if len(node.value) > 1:
        return text[:start] + text[end:]
    # The mapping stays, as an empty one on the line of its own key.
    before = text[:start].rstrip("\n")
    return f"{before} {{}}\n{text[end:]}"


def _index(node: Any, key: str) -> int:
    """The place of an entry in a mapping; a merged one (`<<`) has none."""
    for index, (name, _) in enumerate(node.value if isinstance(node, yaml.MappingNode) else ()):
        if name.value == key:
            return index
    raise NotEditable


def _end(text: str, node: yaml.Node) -> int:
    """Where a node really ends: the parser's end of a block is where the next one starts, behind comments."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return len(text[:end].rstrip("\n")) if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">") else end


def _is_inside_flow(text: str, key: yaml.Node, value: yaml.Node) -> bool:
    """Whether an entry is one of several on a line: something other than its indentation is in front of it."""
    line = text.rfind("\n", 0, key.start_mark.index) + 1
    return bool(text[line : key.start_mark.index].strip(" ")) or value.start_mark.line != key.start_mark.line


def _replaced(text: str, node: yaml.Node, new: str) -> str:
    return text[: node.start_mark.index] + new + text[_end(text, node) :]


def _nested(path: Keys, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _block(value: Any, column: int) -> str:
    lines = yaml.dump(value, Dumper=Dumper, sort_keys=False, width=2**20, allow_unicode=True).splitlines()
    return "".join(f"{' ' * column}{line}\n" for line in lines)


def _flow(value: Any, style: str | None = None) -> str:
    quotes = style if isinstance(value, str) and style in ("'", '"') else None
    dumped: str = yaml.dump(
        value,
        Dumper=Dumper,
        default_flow_style=True,
        default_style=quotes,
        sort_keys=False,
        width=2**20,
        allow_unicode=True,
    )
    return dumped.removesuffix("\n").removesuffix("\n...")


def _root(text: str) -> Any:
    try:
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError:
        raise NotEditable from None
    if not isinstance(root, yaml.MappingNode):
        raise NotEditable
    return root


def _ended(text: str) -> str:
    """With newlines as the parser counts them, and one at the end."""
    if text.count("\r\n") not in (0, text.count("\n")):
        raise NotEditable
    text = text.replace("\r\n", "\n")
    return text if text.endswith("\n") else f"{text}\n"


def _newlines(before: str, after: str) -> str:
    return after.replace("\n", "\r\n") if "\r\n" in before else after


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


def _checked(text: str, wanted: Any) -> str:
    if _load(text) != wanted:
        raise NotEditable
    return text
