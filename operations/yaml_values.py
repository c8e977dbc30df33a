"""Changing values of a YAML file in place, so that its comments and its layout stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import yaml

KeyPath = Sequence[str]


def replaced(text: str, values: Mapping[tuple[str, ...], str]) -> str:
    """A YAML document with other strings at these paths; everything else stays as it is, byte for byte.

    Args:
        text: the document.
        values: the new strings by path of keys.

    Raises:
        KeyError: there is no scalar at a path.
    """
    root = yaml.compose(text, yaml.SafeLoader)
    for node, value in sorted(
        ((_scalar_at(root, path), value) for path, value in values.items()), key=lambda each: -each[0].start_mark.index
    ):
        text = text[: node.start_mark.index] + _written(value, node.style) + text[node.end_mark.index :]
    return text


def _scalar_at(root: yaml.Node | None, path: KeyPath) -> yaml.ScalarNode:
    node = root
    for key in path:
        entries = node.value if isinstance(node, yaml.MappingNode) else ()
        node = next((value for name, value in entries if name.value == key), None)
    if not isinstance(node, yaml.ScalarNode):
        raise KeyError(path)
    return node


def _written(value: str, style: str | None) -> str:
    """A string of letters, digits, `.`, `:`, `/`, `-` and `_`, in the quotes that the previous value had."""
    if style in ("'", '"'):
        return f"{style}{value}{style}"
    return value if isinstance(yaml.safe_load(value), str) else f'"{value}"'
