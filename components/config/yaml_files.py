"""Strict YAML: a duplicate key is an error; PyYAML alone lets the last one win."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from flux_tenancy.components.config.errors import KeyPath, Problem, reason_of
from flux_tenancy.components.config.messages import Message, Wording

UNREADABLE_FILE = Wording("FT-CFG-020", "cannot be read: {reason}")


INVALID_YAML = Wording("FT-CFG-021", "is not valid YAML: {reason}")

# libyaml reads megabytes of manifests in a fraction of a second; it is there wherever PyYAML comes as a wheel. Pulumi's
# own parser is made from it, so both accept the same files.
FastLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


DEPTH_LIMIT = 50
"""Levels of mappings and lists in each other; the files of stacks and tenants have ten."""
VALUES_LIMIT = 100_000
"""Values of a file, an alias counted as all the values that it repeats: 100 tenants with 1,000 each."""

TOO_DEEP = Wording("FT-CFG-025", "line {line}: is nested more than {limit} levels deep", "flatten the file")
TOO_MANY = Wording(
    "FT-CFG-026",
    "line {line}: has more than {limit} values, repeated ones (`*alias`) included",
    "write the values without aliases, or split the file",
)
CONTAINS_ITSELF = Wording("FT-CFG-027", "line {line}: *{alias} is within &{alias} itself", "write the value without it")


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
        value = _loaded(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        return Problem(shown_as, "", UNREADABLE_FILE(reason=reason_of(error)))
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


def _loaded(text: str) -> Any:
    """The data of a YAML text, whose size and depth are known from its events before anything is built from it.

    Raises:
        YAMLError: it is not valid, too deep, or would repeat too many values.
    """
    total = 0
    opened: list[tuple[int, str | None]] = []
    sizes: dict[str, int] = {}
    for event in yaml.parse(text, _StrictLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((total, event.anchor))
            if len(opened) > DEPTH_LIMIT:
                raise yaml.MarkedYAMLError(problem=TOO_DEEP(line=line, limit=DEPTH_LIMIT))
            total += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            before, anchor = opened.pop()
            if anchor is not None:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for _, anchor in opened):
                raise yaml.MarkedYAMLError(problem=CONTAINS_ITSELF(line=line, alias=event.anchor))
            total += sizes.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
        if total > VALUES_LIMIT:
            raise yaml.MarkedYAMLError(problem=TOO_MANY(line=line, limit=VALUES_LIMIT))
    return yaml.load(text, _StrictLoader)


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
