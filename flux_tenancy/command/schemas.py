"""`flux-tenancy schemas`: what editors check the files of a project with."""

from __future__ import annotations

import typer

from flux_tenancy.command.options import project_folder


def schemas() -> None:
    """Write the JSON Schemas of the project's files, so that editors complete and check them.

    Run it again after an upgrade.

    Examples:

      flux-tenancy schemas
    """
    from flux_tenancy.operations.schemas import write_schemas

    for file in write_schemas(project_folder()):
        typer.echo(file)
