"""`flux-tenancy new`: a new project."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def new(
    folder: Annotated[Path, typer.Argument(help="Folder of the new project, which is named like it.")],
    stack: Annotated[str, typer.Option(help="Name of its first stack.")] = "dev",
    production: Annotated[
        bool | None,
        typer.Option(
            "--production/--no-production",
            help="Whether the stack's cluster is a production environment; asked for on a terminal.",
            show_default="--production",
        ),
    ] = None,
) -> None:
    """Write a new project: one stack, one tenant, and the pinned version of this program. Needs no `pulumi`.

    Examples:

      flux-tenancy new my-platform

      flux-tenancy new my-platform --stack eu-1 --no-production
    """
    from flux_tenancy.operations.new_project import new_project

    if production is None and sys.stdin.isatty():
        production = typer.confirm("Is this a production cluster, whose namespaces must not be deleted?", default=True)
    for file in new_project(folder, stack, production is not False):
        typer.echo(file)
    typer.echo(f"Next: {folder / 'README.md'}")
