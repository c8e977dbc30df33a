"""Strict YAML: a duplicate key is an error; PyYAML alone lets the last one win.

PyYAML reads plain scalars by YAML 1.1, Pulumi and kubectl by what Go's parsers have taken over of YAML 1.2. To PyYAML,
`yes` is a boolean, and `1e3` and `0123456789` are strings; to Pulumi, `yes` is a string, and the others are numbers. A
stack's file is read as Pulumi reads it, and a string that one of them reads as something else is written with quotes.

Source: resolve in resolve.go of gopkg.in/yaml.v3
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import yaml

from flux_tenancy.components.config.errors import WRONG_TYPE, KeyPath, Problem, reason_of
from flux_tenancy.components.config.messages import Message, Wording

UNREADABLE_FILE = Wording("FT-CFG-020", "cannot be read: {reason}", "correct the path, or the file")


INVALID_YAML = Wording("FT-CFG-021", "is not valid YAML: {reason}", "correct the syntax")

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


_MERGE = "tag:yaml.org,2002:merge"


class _StrictLoader(FastLoader):  # type: ignore[misc,valid-type]
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            # What `<<` merges may be set anew.
            if key_node.tag == _MERGE:
                continue
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


_BOOLEAN, _INTEGER, _FLOAT = (f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float"))
_GO_RESOLVERS = (
    (_BOOLEAN, "true|True|TRUE|false|False|FALSE"),
    (_INTEGER, "[-+]?(0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|[1-9][0-9_]*|0)"),
    (_FLOAT, r"[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?"),
)
_OCTAL = re.compile("^([-+]?)0(?=[0-7])")
_INTEGERS = range(-(2**63), 2**63)
# Go writes a number without fraction as an integer, unless it needs an exponent.
_LARGEST_WRITTEN = 1e21


class GoLoader(_StrictLoader):
    """Reads plain scalars as Go does, and numbers as they are once Go has written them as JSON."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag.endswith((":null", ":merge", ":timestamp"))]
        for first, resolvers in FastLoader.yaml_implicit_resolvers.items()
    }

    def construct_number(self, node: yaml.ScalarNode) -> int | float | str:
        text = str(self.construct_scalar(node)).replace("_", "")
        with suppress(ValueError):
            if (number := int(_OCTAL.sub(r"\g<1>0o", text), 0)) in _INTEGERS:
                return number
        value = math.inf
        with suppress(ValueError):
            value = float(text)
        if math.isinf(value):
            return str(node.value)
        return int(value) if value.is_integer() and abs(value) < _LARGEST_WRITTEN else value


_Resolver = TypeVar("_Resolver", bound=type[yaml.resolver.BaseResolver])


def _resolve(which: _Resolver, resolvers: Iterable[tuple[str, str]]) -> _Resolver:
    for tag, pattern in resolvers:
        # None stands for any first letter.
        which.add_implicit_resolver(tag, re.compile(f"^(?:{pattern})$"), None)
    return which


def quoting(dumper: _Resolver) -> _Resolver:
    """A dumper that writes a string with quotes if PyYAML, Pulumi or kubectl would read it as something else."""
    return _resolve(dumper, (*_GO_RESOLVERS, (_BOOLEAN, "[yYnN]")))


@quoting
class Dumper(yaml.SafeDumper):
    """Writes what PyYAML, Pulumi and kubectl read alike."""


_resolve(GoLoader, _GO_RESOLVERS)
for _tag in (_INTEGER, _FLOAT):
    GoLoader.add_constructor(_tag, GoLoader.construct_number)


def data_of(module: str, file: str) -> Any:
    """What a YAML file beside a module of the product has.

    Args:
        module: the module's `__file__`.
        file: name of the file.
    """
    return yaml.load(Path(module).with_name(file).read_text(encoding="utf-8"), FastLoader)


def read_mapping(file: Path, shown_as: str, as_pulumi: bool = False) -> dict[str, Any] | Problem:
    """The mapping in a YAML file, or what is wrong with the file. An empty file is an empty mapping.

    Args:
        as_pulumi: whether plain scalars are what they are to Pulumi, which reads the file as well.
    """
    try:
        value = _loaded(file.read_text(encoding="utf-8"), GoLoader if as_pulumi else _StrictLoader)
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
        remedy = "write each key as `key: value`"
        return Problem(shown_as, "", WRONG_TYPE(wanted="a mapping", found="something else", remedy=remedy))
    return value


def _loaded(text: str, loader: type[yaml.SafeLoader]) -> Any:
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
    return yaml.load(text, loader)


def walk(
    value: Any, whole: Callable[[KeyPath, Any], bool] = lambda path, value: False, path: KeyPath = ()
) -> Iterator[tuple[KeyPath, Any]]:
    """Each value in data of a YAML file with its path, the outer ones first; the first is the data itself.

    Args:
        whole: whether to leave out what is in a value.
    """
    yield path, value
    if whole(path, value):
        return
    children = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from walk(child, whole, (*path, key))
