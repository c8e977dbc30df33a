"""The tenants of a stack: its entries, each merged over the tenant's base file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from components.config.errors import Problem
from components.config.messages import Message
from components.config.types import TenantName
from components.config.yaml_files import read_mapping
from components.stack.messages import message
from components.stack.origins import tenant_file_name
from components.stack.overlay import MergedTenant, overlay

_TENANT_NAME: TypeAdapter[str] = TypeAdapter(TenantName)


def read_tenant(name: str, entry: Any, stack_file: str, project: Path) -> MergedTenant | Problem:
    """The tenant `name` of the stack, or what is wrong with it as a whole.

    Args:
        name: the tenant's name.
        entry: the stack's entry; None and the string `{}` stand for an empty mapping.
        stack_file: the stack's file, for messages.
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
            Message("FT-CFG-628", "must be a mapping", "write {} to take the tenant's base unchanged"),
        )
    base_file = tenant_file_name(name)
    if not (project / base_file).is_file():
        return Problem(
            base_file,
            "",
            Message(
                "FT-CFG-629",
                f"does not exist, but {stack_file} lists the tenant {name}",
                "create it with the tenant's base",
            ),
        )
    base = read_mapping(project / base_file, base_file)
    return base if isinstance(base, Problem) else overlay(base, base_file, entry, stack_file)
