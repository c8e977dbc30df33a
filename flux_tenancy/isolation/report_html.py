"""The report as a single HTML page without scripts or external resources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from flux_tenancy.isolation.attempts import NOT_ASKED
from flux_tenancy.isolation.model import Report, Verdict
from flux_tenancy.isolation.report_table import INVENTORY, WORDS, alone, in_cells, refused_by, summary, title

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem; color: #1c1e21; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0 2rem; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #dfe2e6; }
th { position: sticky; top: 0; background: #fff; }
td:last-child { overflow-wrap: anywhere; font-family: ui-monospace, monospace; font-size: 13px; }
.good { color: #19692c; } .bad { color: #fff; background: #b3261e; font-weight: 600; } .open { color: #8a5300; }
.idle { color: #6b7280; } .alone { white-space: nowrap; }
"""
_ATTEMPT_CLASSES = {
    Verdict.REFUSED: "good",
    Verdict.PASSED: "bad",
    Verdict.UNPROVEN: "open",
    Verdict.NOT_APPLICABLE: "idle",
}
_CONTROL_CLASSES = {**_ATTEMPT_CLASSES, Verdict.REFUSED: "bad", Verdict.PASSED: "good"}


def as_html(reports: Sequence[Report]) -> str:
    """All reports of a run."""
    body = "".join(_section(report) for report in reports)
    not_asked = _table(("threat", "reason"), (_row([str(n), why]) for n, why in NOT_ASKED.items()))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Isolation of tenants</title>\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>Isolation of tenants</h1>\n{body}"
        f"<h2>Not tried</h2>\n{not_asked}</body>\n</html>\n"
    )


def _section(report: Report) -> str:
    attempts = (
        _row(
            [
                str(result.attempt.threat),
                result.attempt.name,
                WORDS[result.verdict],
                refused_by(result),
                alone(result),
                result.message,
            ],
            {2: _ATTEMPT_CLASSES[result.verdict], 4: "alone"},
        )
        for result in report.attempts
    )
    controls = (
        _row(
            [result.control.name, WORDS[result.verdict].lower(), result.message],
            {1: _CONTROL_CLASSES[result.verdict]},
        )
        for result in report.controls
    )
    inventory = (_row(in_cells(each), {1: "bad"}) for each in report.inventory or ())
    return (
        f"<h2>{escape(title(report))}</h2>\n<p>{escape(summary(report))} {escape(report.made_at)}</p>\n"
        + _table(("threat", "attempt", "verdict", "refused by", "alone", "seen"), attempts)
        + _table(("control", "verdict", "seen"), controls)
        + (_table(INVENTORY, inventory) if report.inventory else "")
    )


def _table(headings: Sequence[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody>\n</table>\n"


def _row(cells: Sequence[str], classes: dict[int, str] | None = None) -> str:
    classes = classes or {}
    parts = (
        f'<td class="{classes[number]}">{escape(cell)}</td>' if number in classes else f"<td>{escape(cell)}</td>"
        for number, cell in enumerate(cells)
    )
    return f"<tr>{''.join(parts)}</tr>\n"
