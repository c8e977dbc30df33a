"""The file and key that the user has to open for a path of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components.config.errors import Problem
from components.stack.messages import dotted
from components.stack.overlay import MergedTenant, Path

TENANTS_FOLDER = "tenants"


def stack_file_name(stack: str) -> str:
    """The file that describes a stack, in the project's folder; the stack may be named `organization/project/stack`."""
    return f"Pulumi.{stack.rpartition('/')[2]}.yaml"


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

    stack_file: str
    tenants: Mapping[str, MergedTenant]

    def is_in_base(self, path: Path) -> bool:
        """Whether a value at `path`, or a missing one, belongs to a tenant's base file."""
        if len(path) < 3 or path[0] != "tenants" or path[1] not in self.tenants:
            return False
        base_file = tenant_file_name(str(path[1]))
        return (self.tenants[str(path[1])].origin(path[2:]) or base_file) == base_file

    def problem(self, path: Path, message: str) -> Problem:
        """A problem with the value at `path`, with the file and key that the user has to edit."""
        if self.is_in_base(path):
            return Problem(tenant_file_name(str(path[1])), dotted(path[2:]), message)
        return Problem(self.stack_file, dotted(path), message)
