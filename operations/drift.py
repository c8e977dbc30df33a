"""`make drift`: shows what in the cluster differs from what the last update has applied, by whom and since when.

It needs no right to write: the state has each object as the API server stored it, and `metadata.managedFields` of the
object in the cluster names who has written which field. `kubectl diff --server-side` and `pulumi preview --refresh`
need the right to patch or to read every Secret, and name nobody.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from components.config.messages import Message
from operations.drift_search import find_drift
from operations.drift_text import as_json, as_text
from operations.errors import OperationError
from operations.recorded_state import read_recorded
from operations.report_command import Output, ReportCommand

PROJECT = Path(__file__).parents[1]

app = typer.Typer(add_completion=False)


@app.command(cls=ReportCommand)
def drift(
    stack: Annotated[str, typer.Option(help="name of the stack, one for each environment")],
    output: Annotated[Output, typer.Option(help="for people, or for programs")] = Output.TABLE,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="end with 1 where something differs")] = False,
) -> None:
    """Show what in the cluster differs from what the last update of the stack has applied.

    Changes nothing. Exits with 0; with --exit-code, exits with 1 if something differs. Exits with 2 if the command
    fails.
    """
    recorded = read_recorded(stack, PROJECT)
    if not recorded.objects:
        raise OperationError(
            Message(
                "FT-OPS-050",
                f"the state of stack {stack} has no objects of a cluster",
                "apply the stack first: `pulumi up`",
            )
        )
    found, _ = find_drift(recorded, stack, PROJECT)
    typer.echo(as_json(found) if output is Output.JSON else as_text(found))
    if found.differences and exit_code:
        raise typer.Exit(1)


if __name__ == "__main__":
    app(prog_name="python -m operations.drift")
