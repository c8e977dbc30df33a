"""Results as a table: in a terminal, and on a page in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table

Cells = tuple[str, ...]


@dataclass(frozen=True)
class Results:
    """A table of results and what has to be known of them.

    Attributes:
        title: what was measured.
        headings: of the columns.
        words: those headings whose columns hold words and not numbers.
        rows: the cells of each line, by the group that the line belongs to.
        notes: how it was measured.
    """

    title: str
    headings: Cells
    words: frozenset[str]
    rows: Sequence[tuple[object, Cells]]
    notes: Sequence[str]

    def table(self) -> Table:
        """For a terminal, with a line between groups."""
        shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for heading in self.headings:
            worded = heading in self.words
            shown.add_column(heading, justify="left" if worded else "right", no_wrap=worded)
        for previous, (group, cells) in zip((None, *self.rows), self.rows, strict=False):
            if previous is not None and previous[0] != group:
                shown.add_section()
            shown.add_row(*cells)
        return shown

    def markdown(self, machine: Mapping[str, Any]) -> str:
        """A page with the table, the machine and how it was measured."""
        lines = [
            f"# {self.title}",
            "",
            _row(self.headings),
            _row(["---"] * len(self.headings)),
            *(_row(cells) for _, cells in self.rows),
            "",
            _machine_line(machine),
            "",
            *(f"- {note}" for note in self.notes),
        ]
        return "\n".join(lines) + "\n"


def _machine_line(machine: Mapping[str, Any]) -> str:
    """The machine and the versions in one sentence."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{machine['cores']} cores, {machine['memory_mib']} MiB, {machine['system']}, "
        f"load {machine['load']:.1f} before the first measurement; {versions}."
    )


def _row(columns: Sequence[str]) -> str:
    return f"| {' | '.join(columns)} |"
