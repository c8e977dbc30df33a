"""`flux-tenancy fleet`: all stacks of `fleet.yaml`, wave by wave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from flux_tenancy.command.options import Output, OutputOption, project_folder
from flux_tenancy.command.program import failed

app = typer.Typer(help="Update all stacks of fleet.yaml, in waves.", no_args_is_help=True)
_APPROVED = "Refuse to apply anything else than these renders, as `flux-tenancy review render` writes them."


@app.command()
def up(
    approved: Annotated[Path | None, typer.Option(metavar="FOLDER", help=_APPROVED, show_default=False)] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Update all stacks, wave by wave: run `flux-tenancy up --yes`, and wait until all tenants are ready.

    Stops after a stack that fails, or whose tenants are not ready within `readyTimeout`. Run the command again to go
    on.

    Examples:

      flux-tenancy fleet up --approved .approved -o json
    """
    from flux_tenancy.operations.fleet import read_fleet, update_fleet

    folder = project_folder()
    if not _shown(update_fleet(read_fleet(folder), folder, approved), output):
        failed()


@app.command()
def matrix() -> None:
    """Print the waves as strategies of a workflow's jobs, as JSON by name of the wave.

    Examples:

      flux-tenancy fleet matrix
    """
    from flux_tenancy.operations.fleet import ci_matrix, read_fleet

    typer.echo(json.dumps(ci_matrix(read_fleet(project_folder()))))


@app.command()
def operator(
    repository: Annotated[str, typer.Option(metavar="URL", help="URL of the project's repository.")],
    branch: Annotated[str, typer.Option(help="Branch of the repository.")] = "main",
    organization: Annotated[str, typer.Option(help="Owner of the stacks in Pulumi's backend.")] = "organization",
) -> None:
    """Print the stacks as objects of the Pulumi Kubernetes Operator, each after those of the wave before.

    Examples:

      flux-tenancy fleet operator --repository https://git.example.com/platform.git
    """
    import yaml

    from flux_tenancy.components.config.yaml_files import Dumper
    from flux_tenancy.operations.fleet import operator_stacks, read_fleet
    from flux_tenancy.project.described_stack import described_project

    folder = project_folder()
    stacks = operator_stacks(read_fleet(folder), described_project(folder).name, organization, repository, branch)
    typer.echo(yaml.dump_all(stacks, Dumper=Dumper, sort_keys=False), nl=False)


def _shown(rows: list[Any], output: Output) -> bool:
    """Print the rows of a run; returns whether all stacks are done."""
    succeeded = all(row.state == "done" for row in rows)
    report = {"succeeded": succeeded, "stacks": [vars(row) for row in rows]}
    typer.echo(json.dumps(report, indent=2) if output is Output.JSON else "\n".join(map(str, rows)))
    return succeeded
