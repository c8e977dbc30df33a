"""The files of a project: `Pulumi.yaml`, the names of its stacks' and tenants' files, and the file and key that the
user has to open for a path in them.

Source: https://www.pulumi.com/docs/iac/concepts/projects/project-file/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.errors import MISSING, ConfigurationError, KeyPath, Problem, dotted
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.config.yaml_files import read_mapping
from flux_tenancy.components.engine import PROJECT_FILE

if TYPE_CHECKING:
    from flux_tenancy.components.stack.files.tenant_files import MergedTenant


TENANTS_FOLDER = "tenants"

_PREFIX, _SUFFIX = "Pulumi.", ".yaml"
_STACK = re.compile(r"(?!.{101})[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
"""Narrower than Pulumi, so that a name is always one folder, one argument and one word of a shell.

Source: https://www.pulumi.com/docs/iac/concepts/stacks/#create-stack
"""


def is_stack_name(name: str) -> bool:
    """Whether a stack may have a name, without organization and project."""
    return _STACK.fullmatch(name) is not None


@dataclass(frozen=True)
class StackName:
    """The name of a stack as `pulumi` takes it: `stack`, `organization/stack` or `organization/project/stack`.

    Only the backend has organizations: files, renders and approvals go by the last part.

    Attributes:
        project: name of the project; empty for the one of the folder.
        organization: owner of the stack; empty for the user's default.

    Source: https://www.pulumi.com/docs/iac/concepts/stacks/#stack-naming
    """

    stack: str
    project: str = ""
    organization: str = ""

    @classmethod
    def parse(cls, name: str) -> StackName:
        """The parts of a name. Raises ConfigurationError: no stack may have this name."""
        parts = name.split("/")
        if len(parts) > 3 or not all(map(is_stack_name, parts)):
            raise ConfigurationError([_not_a_name(name)])
        *owner, stack = parts
        return cls(stack, owner[1] if len(owner) == 2 else "", owner[0] if owner else "")

    @property
    def file(self) -> str:
        """The file that describes the stack, in the project's folder."""
        return f"{_PREFIX}{self.stack}{_SUFFIX}"


def stack_file_name(stack: str) -> str:
    """The file that describes a stack, in the project's folder.

    Raises:
        ConfigurationError: no stack may have this name.
    """
    return StackName.parse(stack).file


def stack_names(folder: FilePath) -> list[str]:
    """The names of all stacks that have a file in a folder.

    Raises:
        ConfigurationError: files whose names contain none that a stack may have.
    """
    files = folder.glob(f"{_PREFIX}*{_SUFFIX}")
    names = sorted(file.name.removeprefix(_PREFIX).removesuffix(_SUFFIX) for file in files)
    if problems := [_not_a_name(name) for name in names if not is_stack_name(name)]:
        raise ConfigurationError(problems)
    return names


def _not_a_name(stack: str) -> Problem:
    return Problem(
        printable(f"{_PREFIX}{stack}{_SUFFIX}"),
        "",
        Message(
            "FT-CFG-630",
            f"{printable(stack)!r} is not a valid stack name",
            "use up to 100 letters, digits, `-`, `_` and single dots, with a letter or digit first",
        ),
    )


def tenant_file_name(tenant: str) -> str:
    """The base of a tenant, relative to the project's folder."""
    return f"{TENANTS_FOLDER}/{tenant}.yaml"


@dataclass(frozen=True)
class Origins:
    """The files that the values of a stack come from.

    Attributes:
        stack_file: the file of the stack.
        tenants: each tenant's base, merged with the stack's entry.
    """

    # Two stacks are equal if their values are, wherever these come from.
    stack_file: str = field(compare=False)
    tenants: Mapping[str, MergedTenant] = field(compare=False)

    def is_in_base(self, path: KeyPath) -> bool:
        """Whether a value at `path`, or a missing one, belongs to a tenant's base file."""
        if len(path) < 3 or path[0] != "tenants" or path[1] not in self.tenants:
            return False
        base_file = tenant_file_name(str(path[1]))
        return (self.tenants[str(path[1])].origin(path[2:]) or base_file) == base_file

    def problem(self, path: KeyPath, message: str) -> Problem:
        """A problem with the value at `path`, with the file and key that the user has to edit."""
        if self.is_in_base(path):
            return Problem(tenant_file_name(str(path[1])), dotted(path[2:]), message)
        return Problem(self.stack_file, dotted(path), message)


_JSON_FILE = "Pulumi.json"
"""Pulumi reads it, and the stacks' files with the same ending, instead of Pulumi.yaml."""

SharedValues = tuple[tuple[KeyPath, Any], ...]
"""Values that all stacks share, each with its path, in the order in which Pulumi sets them."""
_SEGMENT = re.compile(r'"([^"]*)"|([^.\[\]"]+)')


@dataclass(frozen=True)
class ProjectFile:
    """The parts of `Pulumi.yaml` that the program uses.

    Attributes:
        name: the project's name, the namespace of its keys in a stack's file.
        stack_folder: folder of the stacks' files.
        config: the values that it sets for all stacks; none of them is encrypted.
    """

    name: str
    stack_folder: Path
    config: SharedValues = ()
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def environment(self) -> str:
        """The folder of the packages that Pulumi installs, as its option names it."""
        runtime = self.content.get("runtime")
        options = runtime.get("options") if isinstance(runtime, Mapping) else None
        return str((options.get("virtualenv") if isinstance(options, Mapping) else None) or ".venv")


def read_project_file(project: Path) -> ProjectFile:
    """Read `Pulumi.yaml`.

    Args:
        project: the folder that contains it or, with `main` in it, one below.

    Raises:
        ConfigurationError: it cannot be read, or has no name.
    """
    project = next((folder for folder in (project, *project.parents) if (folder / PROJECT_FILE).is_file()), project)
    if (project / _JSON_FILE).exists():
        raise ConfigurationError(
            [
                Problem(
                    _JSON_FILE,
                    "",
                    Message("FT-CFG-632", f"hides {PROJECT_FILE}: Pulumi would read this file instead", "remove it"),
                )
            ]
        )
    content = read_mapping(project / PROJECT_FILE, PROJECT_FILE, as_pulumi=True)
    if isinstance(content, Problem):
        raise ConfigurationError([content])
    name = content.get("name")
    if not isinstance(name, str) or not name:
        raise ConfigurationError([Problem(PROJECT_FILE, "name", MISSING())])
    main = str(content.get("main") or "")
    if "\0" in main or not (project / main).resolve().is_relative_to(project.resolve()):
        raise ConfigurationError(
            [
                Problem(
                    PROJECT_FILE,
                    "main",
                    Message("FT-CFG-637", "leads out of the project, so no review sees what runs", "move it here"),
                )
            ]
        )
    config = content.get("config")
    # In older versions of Pulumi, `config` was the folder.
    folder = content.get("stackConfigDir", config if isinstance(config, str) else "")
    values = tuple(_values(config, name)) if isinstance(config, Mapping) else ()
    return ProjectFile(name, project / str(folder or ""), values, content)


def _values(config: Mapping[str, Any], project: str) -> Iterator[tuple[KeyPath, Any]]:
    """The values of this project; a key is a path such as `policies.engine`, with or without the project in front."""
    for key, entry in sorted((str(key), entry) for key, entry in config.items()):
        namespace, colon, path = key.rpartition(":")
        if colon and namespace not in (project, f"{project}:config"):
            continue
        value = entry.get("value", entry.get("default")) if isinstance(entry, Mapping) else entry
        if value is not None:
            yield tuple(quoted or plain for quoted, plain in _SEGMENT.findall(path)) or (path,), value
