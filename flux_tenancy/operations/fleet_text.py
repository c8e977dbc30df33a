"""The rows of a fleet's run as one table, which a terminal updates in place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from flux_tenancy.operations.fleet import Row, State
from flux_tenancy.review.words.tables import empty_table

_STYLES: Mapping[State, str] = {
    State.DONE: "green",
    State.SKIPPED: "green",
    State.RUNNING: "yellow",
    State.NOT_READY: "bold red",
    State.FAILED: "bold red",
}
_WIDTH = 130


def as_table(rows: Sequence[Row]) -> Table:
    """For a terminal."""
    table = empty_table(("wave", "stack", "state", "s", "found", "message"), right=("s",))
    for each in rows:
        found = ", ".join(f"{count} {what}" for what, count in each.found.items())
        took = f"{each.seconds:.1f}" if each.seconds else ""
        # As text, so that square brackets are not markup.
        cells = (each.wave, each.stack, Text(each.state, _STYLES.get(each.state, "")), took, found, Text(each.message))
        table.add_row(*cells)
    return table


@contextmanager
def shown(as_json: bool) -> Iterator[Callable[[Sequence[Row]], None]]:
    """Show rows on standard error as they change: as a table in place, or in a log, a line for each change.

    Args:
        as_json: whether the result is printed for programs; otherwise the table is printed at the end.
    """
    last: list[Row] = []
    if sys.stderr.isatty():
        with Live(console=Console(stderr=True), transient=not as_json, auto_refresh=False) as live:

            def show(rows: Sequence[Row]) -> None:
                last[:] = rows
                live.update(as_table(rows), refresh=True)

            yield show
    else:

        def tell(rows: Sequence[Row]) -> None:
            for each in rows:
                if each not in last and each.state is not State.WAITING:
                    typer.echo(f"{each.wave} {each.stack}: {each.state} {each.message}".rstrip(), err=True)
            last[:] = rows

        yield tell
    if not as_json:
        console = Console()
        console.width = max(console.width, _WIDTH)
        console.print(as_table(last))
