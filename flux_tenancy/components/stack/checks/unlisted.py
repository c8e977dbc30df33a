"""Tenants with a base file that no stack lists, so that nothing of them is ever applied."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.stack.files.names import TENANTS_FOLDER, stack_names, tenant_file_name
from flux_tenancy.components.stack.files.project_file import ProjectFile, read_project_file
from flux_tenancy.components.stack.files.stack_file import StackFile, is_encrypted, read_stack_file, structured


def unlisted_tenants(listed: Collection[str], file: StackFile, project: Path) -> list[Message]:
    """A warning for each base file that neither this stack nor another one of the project lists.

    Args:
        listed: the tenants of this stack.
        file: its file.
        project: folder of the Pulumi project.
    """
    found = sorted({each.stem for each in (project / TENANTS_FOLDER).glob("*.yaml")} - {*listed})
    if found:
        found = _listed_nowhere(found, read_project_file(project))
    return [
        Message(
            "FT-CFG-638",
            f"{tenant_file_name(printable(name))}: no stack lists this tenant",
            f"list it below `tenants` in {file.name}, or remove the file",
        )
        for name in found
    ]


def _listed_nowhere(names: list[str], project: ProjectFile) -> list[str]:
    """Those of the names that no stack lists; none if the tenants of a stack are not in its file."""
    try:
        stacks = stack_names(project.stack_folder)
    except ConfigurationError:
        return []
    for stack in stacks if names else ():
        file = read_stack_file(stack, project)
        tenants = file.merged.get("tenants")
        tenants = structured(tenants) if isinstance(tenants, str) else tenants or {}
        if file.unreadable or file.imports or is_encrypted(tenants) or not isinstance(tenants, Mapping):
            return []
        names = [name for name in names if name not in map(str, tenants)]
    return names
