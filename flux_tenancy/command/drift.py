"""`flux-tenancy drift`: what in the cluster differs from what the last update has applied."""

from __future__ import annotations

import typer

from flux_tenancy.command.options import HasExitCode, Output, OutputOption, Stack, project_folder
from flux_tenancy.command.program import found

app = typer.Typer(help="Find and repair changes that others made to objects of a stack.", no_args_is_help=True)


@app.command()
def show(stack: Stack, output: OutputOption = Output.TABLE, exit_code: HasExitCode = False) -> None:
    """Show which fields differ, who changed them, and when. Changes nothing.

    Examples:

      flux-tenancy drift show --stack staging

      flux-tenancy drift show -s production -o json --exit-code
    """
    from flux_tenancy.operations.drift.text import show_drift

    if show_drift(stack, project_folder(), as_json=output is Output.JSON) and exit_code:
        found()


@app.command()
def repair(stack: Stack) -> None:
    """Restore what differs; the next update creates what is missing.

    Does nothing if the stack has not been applied yet. Fails if something still differs afterwards, or if
    FLUX_TENANCY_APPROVED names another render than that of the stack's files.

    Examples:

      flux-tenancy drift repair --stack staging
    """
    from flux_tenancy.operations.drift.repair import repair as repair_stack

    repair_stack(stack, project_folder())
