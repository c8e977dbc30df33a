"""Strict YAML: a duplicate key is an error; PyYAML alone lets the last one win."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from flux_tenancy.components.config.errors import KeyPath, Problem
from flux_tenancy.components.config.messages import Message, Wording

UNREADABLE_FILE = Wording("FT-CFG-020", "cannot be read: {reason}")


INVALID_YAML = Wording("FT-CFG-021", "is not valid YAML: {reason}")

# libyaml reads megabytes of manifests in a fraction of a second; it is there wherever PyYAML comes as a wheel. Pulumi's
# own parser is made from it, so both accept the same files.
FastLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(FastLoader):  # type: ignore[misc,valid-type]
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, Hashable):
                raise yaml.MarkedYAMLError(
                    problem=Message(
                        "FT-CFG-023",
                        f"line {line}: a key must be a string",
                        "put quotes around one that begins with { or [",
                    )
                )
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=Message("FT-CFG-022", f"line {line}: duplicate key {key!r}", "keep one of them")
                )
            seen.add(key)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


def read_mapping(file: Path, shown_as: str) -> dict[str, Any] | Problem:
    """The mapping in a YAML file, or what is wrong with the file. An empty file is an empty mapping.

    Args:
        file: the file.
        shown_as: what messages call it.
    """
    try:
        value = yaml.load(file.read_text(encoding="utf-8"), _StrictLoader)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        return Problem(shown_as, "", UNREADABLE_FILE(reason=reason))
    except yaml.MarkedYAMLError as error:
        if isinstance(error.problem, Message):
            return Problem(shown_as, "", error.problem)
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        return Problem(shown_as, "", INVALID_YAML(reason=f"{line}{error.problem}"))
    except (yaml.YAMLError, ValueError) as error:  # a date that no calendar has is a ValueError
        return Problem(shown_as, "", INVALID_YAML(reason=error))
    if value is None:
        return {}
    if not isinstance(value, dict):
        return Problem(shown_as, "", Message("FT-CFG-024", "must be a mapping of keys to values"))
    return value


def walk(
    value: Any, whole: Callable[[KeyPath, Any], bool] = lambda path, value: False, path: KeyPath = ()
) -> Iterator[tuple[KeyPath, Any]]:
    """Each value in data of a YAML file with its path, the outer ones first; the first is the data itself.

    Args:
        value: the data.
        whole: whether to leave out what is in a value.
        path: where the data is.
    """
    yield path, value
    if whole(path, value):
        return
    children = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from walk(child, whole, (*path, key))
