"""The report for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.model import AttemptResult, ControlResult, Discrepancy, Report, State, Verdict

WIDTH = 180
"""Columns of a report that is not for a terminal."""
_WORDS = {
    Verdict.REFUSED: "refused",
    Verdict.PASSED: "PASSED",
    Verdict.NOT_APPLICABLE: "n/a",
    Verdict.UNPROVEN: "unproven",
}
_STYLES = {
    Verdict.PASSED: "bold red",
    Verdict.UNPROVEN: "yellow",
    Verdict.NOT_APPLICABLE: "dim",
    Verdict.REFUSED: "green",
}


_INVENTORY = ("object", "problem", "found", "intended", "remedy")
"""The headings of an inventory."""


def as_table(reports: Sequence[Report], complete: bool = True) -> RenderableType:
    """All reports of a run, one below another.

    Args:
        reports: of a run.
        complete: whether to list each attempt and control; otherwise only what the reader has to look at.
    """
    return Group(*(part for report in reports for part in (_parts(report) if complete else _overview(report))))


def _alone(result: AttemptResult) -> str:
    """What each layer alone does, e.g. `role ✓ admission ✗`."""
    signs = {State.HOLDS: "✓", State.OPEN: "✗", State.UNPROVEN: "?", State.NOT_REACHED: "?"}
    return " ".join(
        f"{layer} {signs[result.alone[layer].state]}"
        for layer in Layer
        if layer in result.alone and result.alone[layer].state in signs
    )


def _refused_by(result: AttemptResult) -> str:
    """The layer and the part of it that refused."""
    if result.layer is None or result.verdict is not Verdict.REFUSED:
        return ""
    return f"{result.layer}: {result.by}" if result.by else str(result.layer)


def _place(each: Discrepancy) -> str:
    """The object of a discrepancy with its namespace."""
    return f"{each.namespace}: {each.target}" if each.namespace else each.target


def _in_cells(each: Discrepancy) -> tuple[str, ...]:
    """A discrepancy under the headings of `_INVENTORY`."""
    return _place(each), each.what, each.found, each.intended, f"{each.remedy} ({each.code})"


def inventory(report: Report) -> str:
    """One sentence about the inventory of a report."""
    if report.inventory is None:
        return "No inventory: add --stack or --profile, which set the intended state."
    return f"Inventory: {len(report.inventory)} not as intended."


def _summary(report: Report) -> str:
    """One sentence about a report."""
    found = Counter(result.verdict for result in report.attempts)
    counts = ", ".join(f"{found[verdict]} {_WORDS[verdict].lower()}" for verdict in Verdict)
    controls = Counter(result.verdict for result in report.controls)
    return (
        f"{len(report.attempts)} attempts: {counts}. "
        f"{len(report.controls)} controls: {controls[Verdict.PASSED]} passed, {controls[Verdict.REFUSED]} refused, "
        f"{controls[Verdict.UNPROVEN]} unproven. {inventory(report)}"
    )


def _title(report: Report) -> str:
    """The tenant of a report, and how the report was made."""
    without = f", without {', '.join(report.without)}" if report.without else ""
    return (
        f"tenant {report.tenant} ({report.account or 'no account'}) of {report.context} ({report.server}), "
        f"Kubernetes {report.version}, "
        f"{'dry runs and live objects' if report.live else 'dry runs'}{without}"
    )


def _overview(report: Report) -> list[RenderableType]:
    """What a report has besides refusals: these are counted by the layer that refused."""
    by_layer = Counter(each.layer for each in report.attempts if each.verdict is Verdict.REFUSED and each.layer)
    layers = _table("layer", "refused")
    for layer in filter(by_layer.get, Layer):
        layers.add_row(layer, str(by_layer[layer]))
    open_ones = [each for each in report.attempts if each.verdict in (Verdict.PASSED, Verdict.UNPROVEN)]
    attempts = _table("threat", "attempt", "verdict", "seen")
    for each in sorted(open_ones, key=lambda each: each.verdict is not Verdict.PASSED):
        attempts.add_row(
            Text(str(each.attempt.threat)),
            Text(each.attempt.name),
            Text(_WORDS[each.verdict], _STYLES[each.verdict]),
            Text(each.message),
        )
    controls = [each for each in report.controls if each.verdict is not Verdict.PASSED]
    return [
        Text(_title(report), "bold"),
        layers,
        *([attempts] if open_ones else []),
        *([_controls(controls)] if controls else []),
        *_differences(report),
        Text("Each attempt: add --all, or write the report to a file with --file."),
        Text(_summary(report), "bold"),
        Text(""),
    ]


def _parts(report: Report) -> list[RenderableType]:
    attempts = _table("threat", "attempt", "verdict", "refused by", "alone", "seen")
    for result in report.attempts:
        # As text: square brackets in it are not rich's markup.
        attempts.add_row(
            Text(str(result.attempt.threat)),
            Text(result.attempt.name),
            Text(_WORDS[result.verdict], _STYLES[result.verdict]),
            Text(_refused_by(result)),
            Text(_alone(result)),
            Text(result.message),
        )
    return [
        Text(_title(report), "bold"),
        attempts,
        _controls(report.controls),
        *_differences(report),
        Text(_summary(report), "bold"),
        Text(""),
    ]


def _controls(results: Sequence[ControlResult]) -> Table:
    table = _table("control", "verdict", "seen")
    for each in results:
        style = {Verdict.PASSED: "green", Verdict.REFUSED: "bold red"}.get(each.verdict, "yellow")
        table.add_row(Text(each.control.name), Text(_WORDS[each.verdict].lower(), style), Text(each.message))
    return table


def _differences(report: Report) -> list[Table]:
    """The inventory of a report, if it has found anything."""
    if not report.inventory:
        return []
    table = _table(*_INVENTORY)
    for each in report.inventory:
        table.add_row(*(Text(cell, "bold red" if at == 1 else "") for at, cell in enumerate(_in_cells(each))))
    return [table]


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold", justify="right" if heading in ("threat", "refused") else "left")
    return table
