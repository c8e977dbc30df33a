"""The stack's file, `Pulumi.<stack>.yaml` or the one that `--config-file` names, with its values encrypted.

Pulumi passes decrypted values to the program and says which top-level keys contain a secret, but not where. One
encrypted value makes all of `tenants` secret, so the file itself is read to see which of its values are encrypted.
Values that Pulumi passed and the file does not contain come from another file, which has not been checked.

Source: https://www.pulumi.com/docs/iac/concepts/config/#structured-configuration
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.errors import KeyPath, Problem
from flux_tenancy.components.config.yaml_files import read_mapping
from flux_tenancy.components.stack.files.config_keys import check_keys, section_of
from flux_tenancy.components.stack.files.names import stack_file_name

if TYPE_CHECKING:
    from flux_tenancy.components.stack.files.project_file import ProjectFile


class Presence(Enum):
    """How the file contains a value."""

    ENCRYPTED = auto()
    PLAIN = auto()
    ABSENT = auto()


def is_encrypted(value: Any) -> bool:
    """Whether Pulumi has encrypted a value: a mapping with the one key `secure`."""
    return isinstance(value, Mapping) and list(value) == ["secure"] and isinstance(value["secure"], str)


@dataclass(frozen=True)
class StackFile:
    """This project's part of a stack file.

    Attributes:
        name: its path relative to the project's folder, for messages.
        sections: its values by top-level key without the project; empty if there is no such file.
        problems: errors in its top-level keys.
        shared: the values that `Pulumi.yaml` sets for all stacks, by top-level key.
        imports: whether Pulumi has values from elsewhere as well: its service, or environments of ESC.
        option: the option that names the file to `pulumi`, with a space in front; empty for the stack's own.
        unreadable: why it cannot be read, if so.
    """

    name: str
    sections: Mapping[str, Any]
    problems: tuple[Problem, ...] = ()
    shared: Mapping[str, Any] = field(default_factory=dict)
    imports: bool = False
    option: str = ""
    unreadable: tuple[Problem, ...] = ()

    def at(self, path: KeyPath) -> Any:
        """The value at a path, encrypted ones as `{secure: …}`; None where there is none."""
        return _walk(self.sections, path)[0]

    def presence(self, path: KeyPath) -> Presence:
        """How the file contains the value at a path; inside an encrypted mapping, everything is encrypted."""
        found, encrypted = _walk(self.sections, path)
        if encrypted:
            return Presence.ENCRYPTED
        return Presence.ABSENT if found is None else Presence.PLAIN

    def differences(self, sections: Mapping[str, Any]) -> Iterator[KeyPath]:
        """The paths of plain values in the file for which Pulumi passed another value, or none.

        Args:
            sections: the values that Pulumi passed.
        """
        return _differences(self.sections, sections, ())


def read_stack_file(
    stack: str, project: ProjectFile, given: Path | None = None, is_all_that_was_read: bool = False
) -> StackFile:
    """The file of a stack.

    One that cannot be read counts as empty: Pulumi reports it.

    Args:
        stack: name of the stack.
        project: the project's own file.
        given: the file that `--config-file` names, absolute; None for the stack's own.
        is_all_that_was_read: whether Pulumi is known to have read no other file; then the values of a stack without a
            file come from Pulumi's service.
    """
    name = stack_file_name(stack)
    file = project.stack_folder / name
    if given is not None and given != file:
        name = str(given.relative_to(file.parent) if given.is_relative_to(file.parent) else given)
        file, option = given, f" --config-file {name}"
    else:
        option = ""
    document = read_mapping(file, name, as_pulumi=True)
    content: Mapping[str, Any] = {} if isinstance(document, Problem) else document
    config = content.get("config")
    config = config if isinstance(config, Mapping) else {}
    sections = {}
    for key, value in config.items():
        if (section := section_of(str(key), project.name)) is not None:
            sections[section] = value
    problems = check_keys([str(key) for key in config], name, project.name)
    is_remote = is_all_that_was_read and given is None and not file.exists()
    imports = bool(content.get("environment")) or is_remote
    unreadable = (document,) if isinstance(document, Problem) else ()
    return StackFile(name, sections, tuple(problems), project.config, imports, option, unreadable)


def _walk(sections: Any, path: KeyPath) -> tuple[Any, bool]:
    """The value at a path, None where there is none, and whether it is encrypted, by itself or with a parent."""
    found = sections
    for part in path:
        if is_encrypted(found):
            return None, True
        found = _child(found, part)
    return found, is_encrypted(found)


def _child(value: Any, part: str | int) -> Any:
    if isinstance(value, str):
        # `pulumi config set tenants '{…}'` writes a string, which the program reads as JSON.
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if isinstance(value, Mapping):
        # Keys that YAML reads as numbers are strings to Pulumi.
        return next((child for key, child in value.items() if str(key) == str(part)), None)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return None


def _differences(written: Any, read: Any, path: KeyPath) -> Iterator[KeyPath]:
    if is_encrypted(written) or len(path) == 1 and not isinstance(written, Mapping | list):
        return
    if isinstance(written, Mapping):
        found = {str(key): value for key, value in read.items()} if isinstance(read, Mapping) else {}
        for key, value in written.items():
            yield from _differences(value, found.get(str(key)), (*path, str(key)))
    elif isinstance(written, list):
        items = read if isinstance(read, list) else []
        for index, value in enumerate(written):
            yield from _differences(value, items[index] if index < len(items) else None, (*path, index))
    elif not _is_same(written, read):
        yield path


def _is_same(written: Any, read: Any) -> bool:
    if isinstance(written, str):
        # Parsers fold white space in different ways.
        return isinstance(read, str) and written.split() == read.split()
    # Pulumi has dates in forms of its own.
    return isinstance(written, date) or (written == read and isinstance(written, bool) == isinstance(read, bool))
