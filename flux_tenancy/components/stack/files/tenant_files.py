"""The tenants of a stack: its entries, each merged over its base file, with the file that each value came from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from flux_tenancy.components.config.errors import WRONG_TYPE, ConfigurationError, KeyPath, Problem
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.config.types import TenantName
from flux_tenancy.components.config.yaml_files import read_mapping, walk
from flux_tenancy.components.stack.files.project import (
    TENANTS_FOLDER,
    ProjectFile,
    read_project_file,
    stack_names,
    tenant_file_name,
)
from flux_tenancy.components.stack.files.stack_file import StackFile, is_encrypted, read_stack_file, structured
from flux_tenancy.components.stack.files.validation_errors import message


@dataclass(frozen=True)
class MergedTenant:
    """A merged mapping and its origins.

    Attributes:
        origins: the file that each path of `value` came from; for a path that is not listed, see its nearest parent.
        base: the base before the merge.
    """

    value: dict[str, Any]
    origins: dict[KeyPath, str]
    base: Mapping[str, Any]

    def origin(self, path: KeyPath) -> str | None:
        """The file of the value at `path`, or of its nearest parent; None if neither file has one."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]]
        return None


def overlay(base: Mapping[str, Any], base_file: str, entry: Mapping[str, Any], entry_file: str) -> MergedTenant:
    """Merge `entry` over `base`: mappings are merged key by key, everything else is replaced.

    Source: the merge rules of Kustomize's strategic overlays in Flux's multi-tenancy reference, without list merging.
    """
    entry_paths = {path: value for path, value in walk(entry) if path}
    # Nothing below a value that the entry replaces comes from the base.
    replaced = {path for path, value in entry_paths.items() if not isinstance(value, Mapping)}
    origins = {
        path: base_file
        for path, _ in walk(base)
        if path and not any(path[:length] in replaced for length in range(1, len(path) + 1))
    }
    return MergedTenant(_merge(base, entry), origins | dict.fromkeys(entry_paths, entry_file), base)


def _merge(base: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in entry.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = _merge(below, value)
        else:
            merged[key] = value
    return merged


_TENANT_NAME: TypeAdapter[str] = TypeAdapter(TenantName)


def read_tenant(name: str, entry: Any, stack_file: str, project: Path) -> MergedTenant | Problem:
    """The tenant `name` of the stack, or what is wrong with it as a whole.

    Args:
        entry: the stack's entry; None and the string `{}` stand for an empty mapping.
        project: folder of the Pulumi project, which contains `tenants/`.
    """
    try:
        _TENANT_NAME.validate_python(name)
    except ValidationError as error:
        return Problem(stack_file, f"tenants.{name}", message(error.errors()[0], show_input=True))
    # `pulumi config set --path tenants.<tenant> '{}'` stores a string.
    entry = {} if entry in (None, "{}") else entry
    if not isinstance(entry, Mapping):
        return Problem(
            stack_file,
            f"tenants.{name}",
            WRONG_TYPE(
                wanted="a mapping", found="something else", remedy="write {} to take the tenant's base unchanged"
            ),
        )
    base_file = tenant_file_name(name)
    path = project / base_file
    if path.is_dir():
        return Problem(base_file, "", Message("FT-CFG-631", "is a folder", "replace it by the tenant's base"))
    if not path.is_file():
        bases = [each.stem for each in path.parent.glob("*.yaml")]
        close = get_close_matches(name, bases, n=1, cutoff=0.8)
        meant = f"did you mean {close[0]!r}? If not, " if close else ""
        if (other := path.with_suffix(".yml")).is_file():
            meant = f"rename {other.name}, or "
        return Problem(
            base_file,
            "",
            Message(
                "FT-CFG-629",
                f"does not exist, but {stack_file} lists the tenant {name}",
                f"{meant}create it with the tenant's base",
            ),
        )
    base = read_mapping(project / base_file, base_file)
    return base if isinstance(base, Problem) else overlay(base, base_file, entry, stack_file)


def unlisted_tenants(listed: Collection[str], file: StackFile, project: Path) -> list[Message]:
    """A warning for each base file that neither this stack nor another one of the project lists."""
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
