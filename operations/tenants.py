"""`make tenants`: all tenants of all stacks, as a table, as JSON, or as one HTML page."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from operations.described_stack import described_stacks
from operations.policy_report_text import WIDTH
from operations.report_command import ReportCommand
from operations.tenant_overview import Health, read_overview
from operations.tenant_overview_text import as_json, as_table
from operations.tenant_page import as_html
from operations.tenant_violations import count_violations

PROJECT = Path(__file__).parents[1]

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    """For a terminal, for programs, or for a browser."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"


@app.command(cls=ReportCommand)
def tenants(
    stack: Annotated[list[str] | None, typer.Option(help="name of a stack; by default, all that have a file")] = None,
    output: Annotated[Output, typer.Option(help="for a terminal, for programs, or for a browser")] = Output.TABLE,
    policies: Annotated[bool, typer.Option(help="count what policies would refuse, by dry runs")] = True,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="end with 1 where a tenant has failed")] = False,
) -> None:
    """Show all tenants: state, revision, last change, fullest quota, objects that policies would refuse, and message.

    Changes nothing. A stack whose cluster does not answer is a row that says so. Exits with 0; with --exit-code, exits
    with 1 if a tenant has failed or a stack cannot be read.
    """
    violations = partial(count_violations, project=PROJECT) if policies else None
    found = [read_overview(each, PROJECT, violations) for each in stack or described_stacks(PROJECT)]
    match output:
        case Output.JSON:
            typer.echo(as_json(found))
        case Output.HTML:
            typer.echo(as_html(found, f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"), nl=False)
        case Output.TABLE:
            # In a file or a pipe the table is as wide as it needs.
            Console(width=None if sys.stdout.isatty() else WIDTH).print(as_table(found))
    failed = any(each.error or any(line.health is Health.FAILED for line in each.tenants) for each in found)
    if failed and exit_code:
        raise typer.Exit(1)


if __name__ == "__main__":
    app(prog_name="python -m operations.tenants")
