"""The results of a contest: a table for terminals, a page in Markdown, and JSON with every sample."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

WIDTH = 110
"""Columns of a terminal that every table fits."""


@dataclass(frozen=True)
class Results:
    """A table of results and how they were measured.

    Attributes:
        name: name of the files, without suffix.
        title: what was measured.
        columns: format specification of each column's numbers by its heading; empty for words.
        rows: the values of each row by heading. Rows with the same first value belong together.
        notes: how it was measured.
        samples: every single measurement.
    """

    name: str
    title: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    samples: Sequence[Mapping[str, Any]]

    def table(self) -> Table:
        """The table for a terminal."""
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for heading, form in self.columns.items():
            table.add_column(heading, justify="right" if form else "left", no_wrap=not form)
        cells = self._cells()
        for row, following in zip(cells, [*cells[1:], None], strict=True):
            table.add_row(*row, end_section=following is not None and following[0] != row[0])
        return table

    def markdown(self, machine: Mapping[str, Any]) -> str:
        """A page with the table, the machine and the notes."""
        versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
        table = [list(self.columns), ["---"] * len(self.columns), *self._cells()]
        return "\n".join(
            [
                f"# {self.title}\n",
                *(f"| {' | '.join(row)} |" for row in table),
                f"\n{machine['cores']} cores, {machine['memory_mib']} MiB, {machine['system']}, "
                f"load {machine['load']:.1f} before the first measurement; {versions}.\n",
                *(f"- {note}" for note in self.notes),
                "",
            ]
        )

    def write(self, folder: Path, machine: Mapping[str, Any]) -> None:
        """Write `<name>.json` and `<name>.md`."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {"machine": machine, "notes": self.notes, "results": self.rows, "samples": self.samples}
        (folder / f"{self.name}.json").write_text(json.dumps(content, indent=2) + "\n")
        (folder / f"{self.name}.md").write_text(self.markdown(machine))

    def _cells(self) -> list[list[str]]:
        return [[format(row[heading], form) for heading, form in self.columns.items()] for row in self.rows]
