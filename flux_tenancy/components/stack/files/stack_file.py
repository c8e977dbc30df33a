"""The stack's file, `Pulumi.<stack>.yaml` or the one that `--config-file` names, with its values encrypted.

Pulumi passes decrypted values to the program and says which top-level keys contain a secret, but not where. One
encrypted value makes all of `tenants` secret, so the file itself is read to see which of its values are encrypted.
A review reads the file alone. So what Pulumi passed has to be what the file says, as a whole: a value that was added,
changed or left out comes from elsewhere, which nobody has reviewed.

Source: https://www.pulumi.com/docs/iac/concepts/config/#structured-configuration

Source: `ParseKey` of pulumi/sdk/go/common/resource/config/key.go, and `stackConfigNamespacedWithProject` of
pulumi/sdk/go/common/workspace/loaders.go, by which a key without a namespace is the project's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.errors import KeyPath, Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.yaml_files import read_mapping
from flux_tenancy.components.stack.files.project import SharedValues, stack_file_name
from flux_tenancy.components.stack.files.validation_errors import whole_stack

if TYPE_CHECKING:
    from flux_tenancy.components.stack.files.project import ProjectFile

_PULUMI = "pulumi"
# What Pulumi itself reads in a stack file. Source: ProjectStack in sdk/go/common/workspace/project.go of Pulumi
_OF_PULUMI = frozenset({"config", "encryptedkey", "encryptionsalt", "environment", "secretsprovider"})
# The program configures its providers itself.
_PROVIDERS = {"kubernetes": "cluster", "github": "github"}
_FOREIGN = Wording("FT-CFG-627", "is not used by the project {project}", "{remedy}")


def section_of(key: str, project: str) -> str | None:
    """The section of this project that a key sets, by Pulumi's rules; None for a key of another namespace."""
    match key.split(":"):
        case [section]:
            return section
        case [namespace, section] | [namespace, "config", section] if namespace == project:
            return section
    return None


def check_keys(keys: Iterable[str], file: str, project: str) -> list[Problem]:
    """Errors in the top-level keys: keys that this project does not use, and other spellings of its own.

    Args:
        keys: the top-level keys below `config`.
    """
    problems = []
    written: dict[str, str] = {}
    for key in keys:
        section = section_of(key, project)
        if section is None:
            if key.partition(":")[0] != _PULUMI:
                problems.append(Problem(file, key, _foreign(key, project)))
            continue
        if ":" not in key:
            problems.append(
                Problem(file, key, Message("FT-CFG-621", "lacks the project's name", f"write {project}:{key}"))
            )
        if other := written.get(section):
            problems.append(
                Problem(file, key, Message("FT-CFG-622", f"is also set as {other}", f"keep only {project}:{section}"))
            )
        written.setdefault(section, key)
    return problems


def misplaced_sections(keys: Iterable[str], file: str, project: str) -> list[Problem]:
    """Errors in the keys beside `config`: sections of this project there, which Pulumi ignores."""
    return [
        Problem(
            file, key, Message("FT-CFG-639", "is ignored beside `config`", "indent it, so that it is below `config`")
        )
        for key in keys
        if key not in _OF_PULUMI and section_of(key, project) in _sections()
    ]


def _foreign(key: str, project: str) -> Message:
    namespace, _, name = key.partition(":")
    name = name.removeprefix("config:")
    if name.partition(".")[0].partition("[")[0] in _sections():
        remedy = f"write {project}:{name}"
    elif namespace in _PROVIDERS:
        remedy = f"remove it; {project}:{_PROVIDERS[namespace]} configures this"
    else:
        close = get_close_matches(namespace, [project, _PULUMI], n=1, cutoff=0.7)
        remedy = f"did you mean {close[0]}:{name}?" if close else "remove it"
    return _FOREIGN(project=project, remedy=remedy)


def _sections() -> set[str]:
    return {field.alias or name for name, field in whole_stack().model_fields.items()}


ADDED, CHANGED, MISSING = "added", "changed", "missing"


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
        shared: the values that `Pulumi.yaml` sets for all stacks.
        others: its keys of other projects and of Pulumi itself, with those that `Pulumi.yaml` sets.
        imports: whether Pulumi has values from elsewhere as well: its service, or environments of ESC.
        option: the option that names the file to `pulumi`, with a space in front; empty for the stack's own.
        unreadable: why it cannot be read, if so.
    """

    name: str
    sections: Mapping[str, Any]
    problems: tuple[Problem, ...] = ()
    shared: SharedValues = ()
    imports: bool = False
    option: str = ""
    unreadable: tuple[Problem, ...] = ()
    others: frozenset[str] = frozenset()
    path: Path = Path()
    content: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def merged(self) -> dict[str, Any]:
        """The values of the stack: the file's own, and those that all stacks share."""
        return with_shared(self.sections, self.shared)

    def at(self, path: KeyPath) -> Any:
        """The value at a path of the stack, encrypted ones as `{secure: …}`; None where there is none."""
        return _walk(self.merged, path)[0]

    def sets(self, path: KeyPath) -> bool:
        """Whether the file itself has a value at a path."""
        found, encrypted = _walk(self.sections, path)
        return encrypted or found is not None

    def encrypts(self, path: KeyPath) -> bool:
        """Whether the value at a path of the stack is encrypted, by itself or with what contains it.

        One that is in no file counts as encrypted: Pulumi's service and its environments are taken at their word, and
        from elsewhere it is a difference.
        """
        found, encrypted = _walk(self.merged, path)
        return encrypted or found is None

    def differences(self, sections: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
        """Where what Pulumi passed is not what is written: the path, and `added`, `changed` or `missing`.

        Values from Pulumi's service and its environments are added by definition.
        """
        for path, how in _differences(self.merged, sections, ()):
            if how != ADDED or not self.imports:
                yield path, how


def read_stack_file(
    stack: str, project: ProjectFile, given: Path | None = None, is_all_that_was_read: bool = False
) -> StackFile:
    """The file of a stack.

    One that cannot be read counts as empty: Pulumi reports it.

    Args:
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
    config = _config(content)
    sections = {}
    for key, value in config.items():
        if (section := section_of(str(key), project.name)) is not None:
            sections[section] = value
    problems = [
        *misplaced_sections(map(str, content), name, project.name),
        *check_keys([str(key) for key in config], name, project.name),
    ]
    is_remote = is_all_that_was_read and given is None and not file.exists()
    imports = bool(content.get("environment")) or is_remote
    unreadable = (document,) if isinstance(document, Problem) else ()
    both = (*config, *_config(project.content))
    others = frozenset(str(key) for key in both if section_of(str(key), project.name) is None)
    return StackFile(
        name, sections, tuple(problems), project.config, imports, option, unreadable, others, file, content
    )


def structured(value: str) -> Any:
    """Pulumi passes mappings and lists as JSON, and everything else unchanged."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _config(content: Mapping[str, Any]) -> Mapping[Any, Any]:
    config = content.get("config")
    return config if isinstance(config, Mapping) else {}


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


def _differences(written: Any, read: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if is_encrypted(written):
        return
    if isinstance(written, str) and len(path) == 1:
        # `pulumi config set tenants '{…}'` writes a string, which the program reads as JSON.
        written = structured(written)
    if isinstance(written, Mapping) and isinstance(read, Mapping):
        # A key without a value is none.
        own = {str(key): value for key, value in written.items() if value is not None}
        passed = {str(key): value for key, value in read.items() if value is not None}
        for key in {**own, **passed}:
            below = (*path, key)
            if key not in passed:
                yield below, MISSING
            elif key not in own:
                yield below, ADDED
            else:
                yield from _differences(own[key], passed[key], below)
    elif isinstance(written, list) and isinstance(read, list):
        for index in range(max(len(written), len(read))):
            if index >= len(read):
                yield (*path, index), MISSING
            elif index >= len(written):
                yield (*path, index), ADDED
            else:
                yield from _differences(written[index], read[index], (*path, index))
    elif not _is_same(written, read):
        yield path, CHANGED


def _is_same(written: Any, read: Any) -> bool:
    if isinstance(written, str):
        # Parsers fold white space in different ways.
        return isinstance(read, str) and written.split() == read.split()
    # Pulumi has dates in forms of its own.
    return isinstance(written, date) or (written == read and isinstance(written, bool) == isinstance(read, bool))


def with_shared(sections: Mapping[str, Any], shared: SharedValues) -> dict[str, Any]:
    """The values of a stack's file, completed by those that all stacks share.

    A shared value is set where the file has none at its path, whatever else the file has beside it.

    Args:
        sections: the file's values by top-level key.
        shared: those of `Pulumi.yaml`.

    Source: mergeConfig in pkg/workspace/config.go of Pulumi
    """
    found = deepcopy(dict(sections))
    for path, value in shared:
        place: Any = found
        for part in path[:-1]:
            place = place.setdefault(part, {}) if _is_open(place) else None
        if _is_open(place):
            place.setdefault(path[-1], value)
    return found


def _is_open(value: Any) -> bool:
    return isinstance(value, dict) and not is_encrypted(value)
