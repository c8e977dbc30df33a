"""Tables and lists of the generated pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def listed(values: Iterable[object]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table. A bar in a cell is escaped, since it would begin the next cell."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
