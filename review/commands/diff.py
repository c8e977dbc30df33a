"""`make diff`: what a change means, for those who review it."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from components.config.messages import Message
from operations.errors import OperationError
from review.commands.command import PROJECT, ReviewCommand
from review.report.compare import compare
from review.report.json_report import as_json
from review.report.markdown import as_markdown
from review.report.model import Report
from review.report.terminal import as_text

UNACKNOWLEDGED = 3
"""Exit code if a deletion needs an acknowledgement."""
_WIDTH = 160
"""Columns of a report that is not for a terminal."""

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


@app.command(cls=ReviewCommand)
def diff(
    base: Annotated[str, typer.Option(help="what the change is to be merged into")] = "main",
    stack: Annotated[str, typer.Option(help="the only stack to compare; all of them without it")] = "",
    output: Annotated[Output, typer.Option(help="for a terminal, for a comment, or for programs")] = Output.TEXT,
    file: Annotated[Path | None, typer.Option(help="file to write the report to")] = None,
) -> None:
    """Show what the working tree would change in each stack since it left BASE, without a cluster or a passphrase.

    Exits with 0 whether or not something differs, with 3 if a deletion needs an acknowledgement that the stack's file
    does not have, and with 2 if the stacks cannot be compared.
    """
    report = compare(PROJECT, base, stack)
    if file is None:
        _print(report, output)
    else:
        try:
            with file.open("w", encoding="utf-8") as opened:
                _print(report, output, Console(file=opened, width=_WIDTH))
        except OSError as error:
            raise OperationError(
                Message("FT-REV-205", f"{file} cannot be written: {error.strerror}", "set FILE to another path")
            ) from None
    if report.missing_acknowledgements:
        raise typer.Exit(UNACKNOWLEDGED)


def _print(report: Report, output: Output, console: Console | None = None) -> None:
    if output is Output.TEXT:
        # In a file or a pipe, a line is as wide as it needs.
        console = console or Console(width=None if sys.stdout.isatty() else _WIDTH)
        console.print(as_text(report), soft_wrap=not console.is_terminal)
        return
    text = as_json(report) + "\n" if output is Output.JSON else as_markdown(report)
    print(text, end="", file=console.file if console else sys.stdout)


if __name__ == "__main__":
    app(prog_name="python -m review.commands.diff")
