"""`Pulumi.<stack>.yaml` as it lies in the project, values encrypted.

Pulumi hands the program decrypted values and says which top-level keys hold a secret, but not where in them. One
encrypted value makes all of `tenants` secret, so which of its values are encrypted is read from the file itself.

Source: https://www.pulumi.com/docs/iac/concepts/config/#structured-configuration
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.configuration.errors import Problem
from components.configuration.origins import stack_file_name
from components.configuration.overlay import Path as KeyPath
from components.configuration.yaml_files import read_mapping

PROJECT = "flux-tenancy"
_PREFIXES = (f"{PROJECT}:config:", f"{PROJECT}:")


def is_encrypted(value: Any) -> bool:
    """Whether a value is one that Pulumi has encrypted: a mapping of `secure` to a text."""
    return isinstance(value, Mapping) and list(value) == ["secure"] and isinstance(value["secure"], str)


@dataclass(frozen=True)
class StackFile:
    """This project's part of a stack file.

    Attributes:
        sections: what the file says, by top-level key without the project; empty where there is no such file.
    """

    sections: Mapping[str, Any]

    def at(self, path: KeyPath) -> Any:
        """What stands at a path, encrypted values as `{secure: …}`; None where nothing does."""
        found: Any = self.sections
        for part in path:
            if isinstance(found, Mapping):
                # Keys that are numbers to YAML are texts to Pulumi.
                found = next((value for key, value in found.items() if str(key) == str(part)), None)
            elif isinstance(found, list) and isinstance(part, int) and part < len(found):
                found = found[part]
            else:
                return None
        return found


def read_stack_file(stack: str, project: Path) -> StackFile:
    """The stack's file in the project's folder.

    Where there is none (`pulumi --config-file` names another) or it cannot be read (of which Pulumi itself tells),
    nothing is taken to stand anywhere in plain text.
    """
    name = stack_file_name(stack)
    document = read_mapping(project / name, name)
    config = {} if isinstance(document, Problem) else document.get("config")
    sections = {}
    for key, value in config.items() if isinstance(config, Mapping) else ():
        if prefix := next((prefix for prefix in _PREFIXES if str(key).startswith(prefix)), None):
            sections[str(key).removeprefix(prefix)] = value
    return StackFile(sections)
