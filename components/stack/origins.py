"""Which file and key the user has to open for a path of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components.config.errors import Problem
from components.stack.messages import dotted
from components.stack.overlay import Overlaid, Path

TENANTS_FOLDER = "tenants"


def stack_file_name(stack: str) -> str:
    """The file that describes a stack, in the project's folder; the stack may be named `organisation/project/stack`."""
    return f"Pulumi.{stack.rpartition('/')[2]}.yaml"


def tenant_file_name(tenant: str) -> str:
    """The base of a tenant, relative to the project's folder."""
    return f"{TENANTS_FOLDER}/{tenant}.yaml"


@dataclass(frozen=True)
class Origins:
    """Where each path of a stack's configuration came from.

    Attributes:
        stack_file: the file of the stack.
        tenants: each tenant's base with the stack's entry laid over it.
    """

    stack_file: str
    tenants: Mapping[str, Overlaid]

    def is_in_base(self, path: Path) -> bool:
        """Whether what is at `path`, or misses there, is the matter of a tenant's base file."""
        if len(path) < 3 or path[0] != "tenants" or path[1] not in self.tenants:
            return False
        base_file = tenant_file_name(str(path[1]))
        return (self.tenants[str(path[1])].origin(path[2:]) or base_file) == base_file

    def problem(self, path: Path, message: str) -> Problem:
        """A problem with what is at `path`, in the file and at the key that the user has to mend."""
        if self.is_in_base(path):
            return Problem(tenant_file_name(str(path[1])), dotted(path[2:]), message)
        return Problem(self.stack_file, dotted(path), message)
