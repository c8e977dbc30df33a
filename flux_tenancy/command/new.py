"""`flux-tenancy new`: a new project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def new(
    folder: Annotated[Path, typer.Argument(help="Folder of the new project, which is named like it.")],
    stack: Annotated[str, typer.Option(help="Name of its first stack.")] = "dev",
) -> None:
    """Write a new project: one stack, one tenant, and the pinned version of this program. Needs no `pulumi`.

    Examples:

      flux-tenancy new my-platform

      flux-tenancy new my-platform --stack eu-1
    """
    from flux_tenancy.operations.new_project import new_project

    for file in new_project(folder, stack):
        typer.echo(file)
    typer.echo(f"Next: {folder / 'README.md'}")
