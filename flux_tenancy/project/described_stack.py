"""A stack as its files describe it; it need not be valid, since it may still lack a key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.stack.files.project import (
    ProjectFile,
    StackName,
    read_project_file,
    stack_file_name,
    stack_names,
    tenant_file_name,
)
from flux_tenancy.components.stack.files.stack_file import StackFile, is_encrypted, read_stack_file, structured
from flux_tenancy.components.stack.files.tenant_files import MergedTenant, read_tenant
from flux_tenancy.project.errors import OperationError, invalid, reading_files

NO_STACKS = Wording("FT-REV-120", "the project has no stacks", "describe one in Pulumi.<stack>.yaml")
UNKNOWN_STACK = Wording(
    "FT-OPS-002", "stack {stack} has no {file}", "name one that has a file with `--stack`: {stacks}"
)

OTHER_PROJECT = Wording(
    "FT-OPS-009",
    "stack {stack} is a stack of project {other}, and this is project {project}",
    "run the command in the folder of {other}, or name a stack of {project}",
)

TENANTS = "tenants"
PLATFORM_SYNC = ("flux", "sync")


def described_project(project: Path) -> ProjectFile:
    """The project's own file.

    Raises:
        OperationError: it cannot be read.
    """
    with reading_files():
        return read_project_file(project)


def described_stacks(project: Path) -> list[str]:
    """The names of all stacks that have a file.

    Raises:
        OperationError: the project's own file cannot be read, or a file is not named after a stack.
    """
    with reading_files():
        return stack_names(described_project(project).stack_folder)


def described_name(stack: str, project: Path) -> StackName:
    """The parts of the name of a stack of this project.

    Raises:
        OperationError: no stack may have the name, it is of another project, or the project's own file cannot be read.
    """
    with reading_files():
        name = StackName.parse(stack)
    if name.project not in ("", own := described_project(project).name):
        raise OperationError(OTHER_PROJECT(stack=stack, other=name.project, project=own))
    return name


def stack_path(stack: str, project: Path) -> Path:
    """The path of a stack's file.

    Raises:
        OperationError: the stack has no file or is of another project, or the project's own file cannot be read.
    """
    name = described_name(stack, project).file
    path = described_project(project).stack_folder / name
    if not path.is_file():
        stacks = " or ".join(described_stacks(project))
        raise OperationError(UNKNOWN_STACK(stack=stack, file=name, stacks=stacks) if stacks else NO_STACKS())
    return path


def listed_tenants(stack: str, project: Path) -> Mapping[str, Any]:
    """The tenants of a stack with their entries.

    Raises:
        OperationError: the stack does not exist.
    """
    return _listed(described_file(stack, project))


def described_tenants(stack: str, project: Path) -> dict[str, MergedTenant | Problem]:
    """Each tenant's entry in the stack, merged over its base file; or why it cannot be.

    Raises:
        OperationError: the stack does not exist.
    """
    file = described_file(stack, project)
    return {tenant: read_tenant(tenant, entry, file.name, project) for tenant, entry in _listed(file).items()}


def described_tenant(stack: str, tenant: str, project: Path, may_be_new: bool = False) -> MergedTenant:
    """A tenant's entry in the stack, merged over its base file.

    Args:
        may_be_new: whether a base file is enough, since the stack is about to list the tenant.

    Raises:
        OperationError: the stack or the tenant does not exist.
    """
    file = described_file(stack, project)
    listed = _listed(file)
    is_readable = not is_encrypted(file.at((TENANTS,)))
    is_new = may_be_new and is_readable and (project / tenant_file_name(tenant)).is_file()
    if not is_new:
        check_listed(tenant, listed, file.name)
    overlaid = read_tenant(tenant, listed.get(tenant), file.name, project)
    if isinstance(overlaid, Problem):
        raise invalid(overlaid)
    return overlaid


def check_listed(tenant: str, listed: Collection[str], file: str) -> None:
    """Check that a stack's file lists a tenant, or that one of several does.

    Raises:
        OperationError: it does not.
    """
    if tenant in listed:
        return
    close = get_close_matches(tenant, listed, n=1, cutoff=0.8)
    others = f"did you mean {close[0]!r}? If not, " if close else "name one of these, or " if listed else ""
    raise OperationError(
        Message(
            "FT-OPS-004",
            f"tenant {tenant} is not listed in {file}; listed: {', '.join(listed) or 'none'}",
            f"{others}onboard it first with `flux-tenancy tenant new`",
        )
    )


def described_platform(stack: str, project: Path) -> Mapping[str, Any]:
    """The platform's own sync.

    Raises:
        OperationError: the stack does not exist or has no such sync.
    """
    sync = described_section(stack, PLATFORM_SYNC[0], project).get(PLATFORM_SYNC[1])
    if not isinstance(sync, Mapping):
        raise OperationError(
            Message("FT-OPS-005", f"{stack_file_name(stack)} has no flux.sync", "set flux.sync.source.url first")
        )
    return sync


def described_section(stack: str, section: str, project: Path) -> Mapping[str, Any]:
    """A top-level section of a stack; empty if the stack has none.

    Raises:
        OperationError: the stack does not exist.
    """
    return _section(described_file(stack, project), section)


def described_file(stack: str, project: Path) -> StackFile:
    """The stack's file.

    Raises:
        OperationError: the stack does not exist, or its file is no YAML or has unknown keys.
    """
    stack_path(stack, project)  # An unknown stack is refused with the names of those that exist.
    file = read_stack_file(stack, described_project(project))
    if problems := file.unreadable or file.problems:
        raise invalid(*problems)
    return file


def _listed(file: StackFile) -> Mapping[str, Any]:
    """The tenants of a stack with their entries; none if all of them are encrypted together."""
    return _section(file, TENANTS)


def _section(file: StackFile, key: str) -> Mapping[str, Any]:
    """A section as Pulumi passes it: that of the stack's file, or else the project's own; either may be JSON."""
    found = file.merged.get(key)
    found = structured(found) if isinstance(found, str) else found
    return found if isinstance(found, Mapping) and not is_encrypted(found) else {}
