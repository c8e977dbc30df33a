"""`flux-tenancy schemas`: what editors check the files of a project with."""

from __future__ import annotations

import typer

from flux_tenancy.command.project import project_folder


def schemas() -> None:
    """Write the JSON Schemas of the project's files, so that editors complete and check them.

    Writes `schemas/`, which the first comment of a stack's or tenant's file names. Run it again after an upgrade.

    Examples:

      flux-tenancy schemas
    """
    from flux_tenancy.operations.schemas import write_schemas

    for file in write_schemas(project_folder()):
        typer.echo(file)
