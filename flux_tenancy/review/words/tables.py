"""What the reports for people have in common: the look of their tables, and how wide they are."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from typing import IO, Literal

from rich import box
from rich.console import Console
from rich.table import Table

_WIDTH = 160
WIDE = 140
"""Columns from which a table has room for messages; below, these follow it."""


def empty_table(headings: Iterable[str], right: Collection[str] = (), whole: Collection[str] = ()) -> Table:
    """A table without rows.

    Args:
        headings: one for each column.
        right: the headings of columns with numbers.
        whole: the headings of columns whose words are not broken, such as times and names.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in headings:
        justify: Literal["left", "right"] = "right" if heading in right else "left"
        table.add_column(heading, overflow="fold", justify=justify, no_wrap=heading in whole)
    return table


def report_console(file: IO[str] | None = None) -> Console:
    """What prints a report: on a terminal as wide as that, in a file or a pipe wide enough for tables.

    Args:
        file: where to; standard output by default.
    """
    return Console(file=file, width=None if (file or sys.stdout).isatty() else _WIDTH)
