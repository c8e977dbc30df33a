"""`flux-tenancy fleet`: all stacks of `fleet.yaml`, wave by wave."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flux_tenancy.command.options import HasExitCode, Output, OutputOption
from flux_tenancy.command.program import failed, found
from flux_tenancy.command.project import project_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from flux_tenancy.operations.fleet import Run, Show
    from flux_tenancy.operations.fleet_file import Fleet

app = typer.Typer(help="Preview, update and compare all stacks of fleet.yaml, in waves.", no_args_is_help=True)


@app.command()
def preview(output: OutputOption = Output.TABLE) -> None:
    """Count what an update would change in each stack.

    Examples:

      flux-tenancy fleet preview

      flux-tenancy fleet preview -o json
    """
    from flux_tenancy.operations.fleet import preview_fleet

    if not _run(preview_fleet, output).succeeded:
        failed()


@app.command()
def up(
    approved: Annotated[
        Path | None,
        typer.Option(
            "--approved",
            metavar="FOLDER",
            help="Refuse to apply anything else than these renders, as `flux-tenancy review render` writes them.",
            show_default=False,
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Update all stacks, wave by wave.

    Runs `flux-tenancy up --yes` for each stack. A wave starts when all tenants of the wave before are ready. A wave
    that fails, or whose tenants are not ready within `readyTimeout`, is the last one. Run the command again to go on:
    stacks that are done are left out unless their configuration has changed.

    Examples:

      flux-tenancy fleet up

      flux-tenancy fleet up --approved .approved -o json
    """
    from functools import partial

    from flux_tenancy.operations.fleet import update_fleet

    if not _run(partial(update_fleet, approved=approved), output).succeeded:
        failed()


@app.command()
def status(output: OutputOption = Output.TABLE, exit_code: HasExitCode = False) -> None:
    """Count the tenants that are ready in each stack.

    Examples:

      flux-tenancy fleet status

      flux-tenancy fleet status -o json --exit-code
    """
    from flux_tenancy.operations.fleet import status_of_fleet

    if not _run(status_of_fleet, output).succeeded and exit_code:
        found()


@app.command()
def drift(output: OutputOption = Output.TABLE, exit_code: HasExitCode = False) -> None:
    """Count what differs from each stack in its cluster. Changes nothing.

    Examples:

      flux-tenancy fleet drift

      flux-tenancy fleet drift -o json --exit-code
    """
    from flux_tenancy.operations.fleet import drift_of_fleet

    run = _run(drift_of_fleet, output)
    if not run.succeeded:
        failed()
    if exit_code and any(each.found for each in run.rows.values()):
        found()


@app.command()
def matrix() -> None:
    """Print the waves as strategies of a workflow's jobs, as JSON by name of the wave.

    Examples:

      flux-tenancy fleet matrix
    """
    import json

    from flux_tenancy.operations.fleet_file import ci_matrix, read_fleet

    typer.echo(json.dumps(ci_matrix(read_fleet(project_folder()))))


@app.command()
def operator(
    repository: Annotated[str, typer.Option("--repository", metavar="URL", help="URL of the project's repository.")],
    branch: Annotated[str, typer.Option("--branch", help="Branch of the repository.")] = "main",
    organization: Annotated[
        str, typer.Option("--organization", help="Owner of the stacks in Pulumi's backend.")
    ] = "organization",
) -> None:
    """Print the stacks as objects of the Pulumi Kubernetes Operator, each after those of the wave before.

    Examples:

      flux-tenancy fleet operator --repository https://git.example.com/platform.git
    """
    import yaml

    from flux_tenancy.components.config.yaml_files import Dumper
    from flux_tenancy.operations.fleet_file import operator_stacks, read_fleet
    from flux_tenancy.project.described_stack import described_project

    folder = project_folder()
    name = described_project(folder).name
    stacks = operator_stacks(read_fleet(folder), name, organization, repository, branch)
    typer.echo(yaml.dump_all(stacks, Dumper=Dumper, sort_keys=False), nl=False)


def _run(act: Callable[[Fleet, Path, Show], Run], output: Output) -> Run:
    from flux_tenancy.operations.fleet import as_json
    from flux_tenancy.operations.fleet_file import read_fleet
    from flux_tenancy.operations.fleet_text import shown

    folder, is_json = project_folder(), output is Output.JSON
    fleet = read_fleet(folder)
    with shown(is_json) as show:
        run = act(fleet, folder, show)
    if is_json:
        typer.echo(as_json(run))
    return run
