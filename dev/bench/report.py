"""The results of a contest: a table in Markdown, which terminals show as well, plots, and JSON with every sample."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

WIDTH = 130
"""Columns that every table fits."""


@dataclass(frozen=True)
class Plots:
    """What is drawn of a table: a plot for each value of one column.

    Attributes:
        each: heading of that column.
        x: heading of the column along the horizontal axis.
        y: heading of the column with the numbers.
    """

    each: str
    x: str
    y: str


@dataclass(frozen=True)
class Results:
    """A table of results and how they were measured.

    Attributes:
        name: name of the files, without suffix.
        title: what was measured.
        columns: format specification of each column's numbers by its heading; empty for words.
        rows: the values of each row by heading.
        notes: how it was measured.
        samples: every single measurement.
        plots: what is drawn; None for a table alone.
    """

    name: str
    title: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    samples: Sequence[Mapping[str, Any]]
    plots: Plots | None = None

    def drawn(self) -> Iterator[str]:
        """The plots in Mermaid, which Git hosts and the documentation show.

        Source: https://mermaid.js.org/syntax/xyChart.html
        """
        if self.plots is None:
            return
        for value in dict.fromkeys(row[self.plots.each] for row in self.rows):
            rows = [row for row in self.rows if row[self.plots.each] == value]
            labels = ", ".join(json.dumps(str(row[self.plots.x])) for row in rows)
            numbers = ", ".join(format(row[self.plots.y], ".2f") for row in rows)
            yield "\n".join(
                (
                    "```mermaid",
                    "xychart-beta",
                    f"    title {json.dumps(str(value))}",
                    f"    x-axis {json.dumps(self.plots.x)} [{labels}]",
                    f"    y-axis {json.dumps(self.plots.y, ensure_ascii=False)}",
                    f"    bar [{numbers}]",
                    "```",
                )
            )

    def table(self) -> Table:
        """The table, in Markdown."""
        table = Table(box=box.MARKDOWN)
        for heading, form in self.columns.items():
            table.add_column(heading, justify="right" if form else "left", no_wrap=not form)
        for row in self.rows:
            table.add_row(*(format(row[heading], form) for heading, form in self.columns.items()))
        return table

    def write(self, folder: Path, machine: Mapping[str, Any]) -> None:
        """Write `<name>.json` with everything, and `<name>.md` with the table, the plots, the machine and the notes."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {"machine": machine, "notes": self.notes, "results": self.rows, "samples": self.samples}
        (folder / f"{self.name}.json").write_text(json.dumps(content, indent=2) + "\n")
        facts = [f"{name} {value}" for name, value in (machine | machine["versions"]).items() if name != "versions"]
        with (folder / f"{self.name}.md").open("w") as page:
            print(f"# {self.title}", file=page)
            Console(file=page, width=WIDTH).print(self.table())
            for plot in self.drawn():
                print(f"{plot}\n", file=page)
            print(f"{', '.join(facts)}\n", *(f"- {note}" for note in self.notes), sep="\n", file=page)
