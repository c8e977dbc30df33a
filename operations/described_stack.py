"""What the files say of a stack, before it is in order: one that waits for a key is not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.config.errors import ConfigurationError, Problem
from components.stack.origins import stack_file_name, tenant_file_name
from components.stack.overlay import Overlaid
from components.stack.project_file import ProjectFile, read_project_file
from components.stack.stack_file import StackFile, is_encrypted, read_stack_file
from components.stack.tenant_files import read_tenant
from operations.errors import OperationError

PLATFORM = ("flux", "sync")


def described_project(project: Path) -> ProjectFile:
    """What the project's own file says.

    Raises:
        OperationError: it cannot be read.
    """
    try:
        return read_project_file(project)
    except ConfigurationError as error:
        raise OperationError(str(error.problems[0]), "mend that first") from None


def described_stacks(project: Path) -> list[str]:
    """The names of all stacks that have a file.

    Raises:
        OperationError: the project's own file cannot be read.
    """
    return sorted(file.name.split(".")[1] for file in described_project(project).stack_folder.glob("Pulumi.*.yaml"))


def listed_tenants(stack: str, project: Path) -> Mapping[str, Any]:
    """The tenants of a stack with their entries.

    Raises:
        OperationError: there is no such stack.
    """
    tenants = described_file(stack, project).at(("tenants",))
    return tenants if isinstance(tenants, Mapping) and not is_encrypted(tenants) else {}


def described_tenant(stack: str, tenant: str, project: Path, may_be_new: bool = False) -> Overlaid:
    """A tenant that the stack lists, laid over its base.

    Args:
        stack: name of the stack.
        tenant: name of the tenant.
        project: folder of the project.
        may_be_new: whether its base alone will do, since the stack is about to list it.

    Raises:
        OperationError: there is no such stack, or it does not have the tenant.
    """
    name, listed = stack_file_name(stack), listed_tenants(stack, project)
    is_readable = not is_encrypted(described_file(stack, project).at(("tenants",)))
    is_new = may_be_new and is_readable and (project / tenant_file_name(tenant)).is_file()
    if tenant not in listed and not is_new:
        has = f"it has {', '.join(listed)}" if listed else "it has none"
        raise OperationError(
            f"{name} lists no tenant {tenant}; {has}",
            f"add `{tenant}: {{}}` below {described_project(project).name}:tenants first",
        )
    overlaid = read_tenant(tenant, listed.get(tenant), name, project)
    if isinstance(overlaid, Problem):
        raise OperationError(str(overlaid), "mend that first")
    return overlaid


def described_platform(stack: str, project: Path) -> Mapping[str, Any]:
    """The platform's own sync.

    Raises:
        OperationError: there is no such stack, or it has no such sync.
    """
    sync = described_file(stack, project).at(PLATFORM)
    if not isinstance(sync, Mapping):
        raise OperationError(f"{stack_file_name(stack)} has no flux.sync", "write flux.sync.source.url there first")
    return sync


def described_section(stack: str, section: str, project: Path) -> Mapping[str, Any]:
    """A top-level section of a stack; empty where the stack has none.

    Raises:
        OperationError: there is no such stack.
    """
    found = described_file(stack, project).at((section,))
    return found if isinstance(found, Mapping) else {}


def described_file(stack: str, project: Path) -> StackFile:
    """The stack's file.

    Raises:
        OperationError: there is no such stack, or the file has keys that belong to nobody.
    """
    name, of_project = stack_file_name(stack), described_project(project)
    if not (of_project.stack_folder / name).is_file():
        found = described_stacks(project)
        raise OperationError(
            f"there is no {name} for a stack {stack}",
            f"name one that is described: STACK={' or '.join(found)}" if found else f"describe the stack in {name}",
        )
    file = read_stack_file(stack, of_project)
    if file.problems:
        raise OperationError("; ".join(map(str, file.problems)), "mend that first")
    return file
