"""Reading YAML strictly: a key that stands twice is an error, not a silent last word."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from components.config.errors import Problem

# The C loader reads megabytes of manifests in a fraction of a second; it is there wherever PyYAML comes as a wheel.
FastLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.MarkedYAMLError(
                    problem="a key must be a text; put quotes around what begins with { or [",
                    problem_mark=key_node.start_mark,
                )
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_mapping(file: Path, shown_as: str) -> dict[str, Any] | Problem:
    """The mapping in a YAML file, or what is wrong with the file. An empty file is an empty mapping."""
    try:
        value = yaml.load(file.read_text(encoding="utf-8"), _StrictLoader)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        return Problem(shown_as, "", f"cannot be read: {reason}")
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        return Problem(shown_as, "", f"is not valid YAML: {line}{error.problem}")
    except (yaml.YAMLError, ValueError) as error:  # a date that no calendar has is a ValueError
        return Problem(shown_as, "", f"is not valid YAML: {error}")
    if value is None:
        return {}
    if not isinstance(value, dict):
        return Problem(shown_as, "", "must be a mapping of keys to values")
    return value
