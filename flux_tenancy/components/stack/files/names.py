"""The names of stacks and of their files, and the file and key that the user has to open for a path in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from flux_tenancy.components.config.errors import ConfigurationError, KeyPath, Problem, dotted
from flux_tenancy.components.config.messages import Message, printable

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
