"""The report for a terminal, and for programs: docs/security.md documents its keys, which are stable."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flux_tenancy.components.policies.policy import THREATS
from flux_tenancy.isolation.attempts import NOT_ASKED
from flux_tenancy.isolation.model import AttemptResult, ControlResult, Discrepancy, Layer, Report, State, Verdict
from flux_tenancy.review.words import empty_table

WIDTH, OVERVIEW_WIDTH = 180, 100
"""Columns of a report that is not for a terminal, with each attempt and without."""
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


def as_table(reports: Sequence[Report], complete: bool = True) -> RenderableType:
    """All reports of a run.

    Args:
        complete: whether to list each attempt and control, by tenant; otherwise only what the reader has to look at,
            and numbers by layer and threat, of all tenants together.
    """
    return Group(*((part for report in reports for part in _parts(report)) if complete else _overview(reports)))


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


def _run(report: Report) -> str:
    """The cluster of a report, and how the report was made."""
    without = f", without {', '.join(report.without)}" if report.without else ""
    tried = "dry runs and live objects" if report.live else "dry runs"
    return f"{report.context} ({report.server}), Kubernetes {report.version}, {tried}{without}"


def _overview(reports: Sequence[Report]) -> list[RenderableType]:
    """What is open or unproven, then the refusals by threat, and the summaries last."""
    seen: dict[tuple[Verdict, str, str], list[str]] = defaultdict(list)
    summaries: dict[str, list[str]] = defaultdict(list)
    for report in reports:
        summaries[_summary(report)].append(report.tenant)
        for each in report.attempts:
            seen[each.verdict, each.attempt.name, each.message].append(report.tenant)
    attempts = _in_lines("verdict", "attempt, and the beginning of what was seen", cut=1)
    for wanted in (Verdict.PASSED, Verdict.UNPROVEN):
        for (verdict, name, message), tenants in seen.items():
            if verdict is wanted:
                word = Text(_WORDS[verdict], _STYLES[verdict])
                attempts.add_row(word, Text(f"{name} ({', '.join(tenants)})"))
                attempts.add_row("", Text(message, "dim"))
    controls = ([each for each in report.controls if each.verdict is not Verdict.PASSED] for report in reports)
    return [
        *(
            Text(f"Isolation of {', '.join(report.tenant for report in reports)} of {_run(first)}", "bold")
            for first in reports[:1]
        ),
        *([attempts] if attempts.row_count else []),
        *map(_controls, filter(None, controls)),
        *(table for report in reports for table in _differences(report)),
        *_by_threat([each for report in reports for each in report.attempts]),
        Text("Each attempt, with its whole message: add --all."),
        *(
            Text(summary if len(summaries) == 1 else f"{', '.join(tenants)}: {summary}", "bold")
            for summary, tenants in summaries.items()
        ),
    ]


def _by_threat(results: Sequence[AttemptResult]) -> list[RenderableType]:
    """How many attempts of each threat the layers have refused, in one line each, and of all."""
    table = _in_lines("threat", "refused by", cut=0)
    for threat, group in groupby(sorted(results, key=_threat), _threat):
        table.add_row(Text(THREATS[threat].attempt), _by_layer([*group]))
    return [table, Text(f"Refused by {_by_layer(results)}")] if results else []


def _threat(result: AttemptResult) -> int:
    return result.attempt.threat


def _by_layer(results: Sequence[AttemptResult]) -> str:
    """How many attempts each layer has refused, and how many none: `role 2, admission 4, PASSED 1`."""
    counts = Counter(each.layer if each.verdict is Verdict.REFUSED else _WORDS[each.verdict] for each in results)
    order = (*Layer, _WORDS[Verdict.PASSED], _WORDS[Verdict.UNPROVEN])
    return ", ".join(f"{name} {counts[name]}" for name in order if counts[name])


def _parts(report: Report) -> list[RenderableType]:
    attempts = empty_table(("threat", "attempt", "verdict", "refused by", "alone", "seen"), right=("threat",))
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
        Text(f"tenant {report.tenant} ({report.account or 'no account'}) of {_run(report)}", "bold"),
        attempts,
        _controls(report.controls),
        *_differences(report),
        Text(_summary(report), "bold"),
        Text(""),
    ]


def _controls(results: Sequence[ControlResult]) -> Table:
    table = empty_table(("control", "verdict", "seen"))
    for each in results:
        style = {Verdict.PASSED: "green", Verdict.REFUSED: "bold red"}.get(each.verdict, "yellow")
        table.add_row(Text(each.control.name), Text(_WORDS[each.verdict].lower(), style), Text(each.message))
    return table


def _differences(report: Report) -> list[Table]:
    """The inventory of a report, if it has found anything."""
    if not report.inventory:
        return []
    table = empty_table(("object", "problem", "found", "intended", "remedy"))
    for each in report.inventory:
        place = f"{each.namespace}: {each.target}" if each.namespace else each.target
        cells = (each.found, each.intended, f"{each.remedy} ({each.code})")
        table.add_row(Text(place), Text(each.what, "bold red"), *map(Text, cells))
    return [table]


def _in_lines(*headings: str, cut: int) -> Table:
    """A table whose rows are one line each: the column with this number is cut."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), expand=True)
    for number, heading in enumerate(headings):
        table.add_column(heading, no_wrap=True, overflow="ellipsis", ratio=1 if number == cut else None)
    return table


FORMAT = "flux-tenancy/isolation/v1"


def as_json(reports: Sequence[Report]) -> str:
    """All reports of a run."""
    content = {
        "format": FORMAT,
        "safe": all(report.safe for report in reports),
        "reports": [_report(report) for report in reports],
        "notAsked": [{"threat": threat, "reason": reason} for threat, reason in NOT_ASKED.items()],
    }
    return json.dumps(content, indent=2)


def _report(report: Report) -> dict[str, Any]:
    return {
        "context": report.context,
        "server": report.server,
        "version": report.version,
        "tenant": report.tenant,
        "namespaces": list(report.namespaces),
        "account": report.account,
        "live": report.live,
        "without": list(report.without),
        "madeAt": report.made_at,
        "safe": report.safe,
        "attempts": [_attempt(result) for result in report.attempts],
        "controls": [_control(result) for result in report.controls],
        "inventory": None if report.inventory is None else [_discrepancy(each) for each in report.inventory],
    }


def _attempt(result: AttemptResult) -> dict[str, Any]:
    return {
        "id": result.attempt.id,
        "threat": result.attempt.threat,
        "name": result.attempt.name,
        "verdict": result.verdict,
        "layer": result.layer,
        "by": result.by,
        "message": result.message,
        "layers": {
            layer: {"state": each.state, "by": each.by, "message": each.message} for layer, each in result.alone.items()
        },
    }


def _control(result: ControlResult) -> dict[str, Any]:
    return {
        "id": result.control.id,
        "name": result.control.name,
        "verdict": result.verdict,
        "message": result.message,
    }


def _discrepancy(each: Discrepancy) -> dict[str, Any]:
    return {
        "code": each.code,
        "what": each.what,
        "namespace": each.namespace,
        "object": each.target,
        "found": each.found,
        "intended": each.intended,
        "remedy": each.remedy,
    }
