"""The tenants of all stacks, as a table for people and as JSON for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from flux_tenancy.operations.admission.report import count_violations
from flux_tenancy.operations.tenants.overview import Health, QuotaUse, StackOverview, TenantLine, read_overview
from flux_tenancy.project.described_stack import stack_path
from flux_tenancy.project.errors import run_all, waiting
from flux_tenancy.review.words import WIDE, empty_table, report_console

LANE_HEADING = "lane"
HEADINGS = ("stack", "tenant", "state", "revision", "last change", "fullest quota", "violations", "message")
UNREACHABLE = "unknown"
"""The state of a stack of which nothing is known."""
UNKNOWN = "–"
_WHOLE = ("stack", "tenant", "state", "revision", "last change")
_COUNT = "count/"
_DIGEST = re.compile(r"(sha(?:1|256):[0-9a-f]{7})[0-9a-f]+")
STYLES: Mapping[str, str] = {
    Health.READY: "green",
    Health.FAILED: "bold red",
    Health.ABSENT: "yellow",
    UNREACHABLE: "bold red",
}


def headings(overviews: Sequence[StackOverview]) -> list[str]:
    """The columns: one more if a tenant has a lane."""
    lanes = [LANE_HEADING] if any(line.lane for each in overviews for line in each.tenants) else []
    return [*HEADINGS[:3], *lanes, *HEADINGS[3:]]


def rows(overviews: Sequence[StackOverview]) -> list[tuple[str, ...]]:
    """The cells of each row, by heading; a stack of which nothing is known is one row."""
    found: list[Mapping[str, str]] = []
    for each in overviews:
        if each.error:
            found.append({"stack": each.stack, "state": UNREACHABLE, "message": each.error})
        found += [_cells(each.stack, line) for line in each.tenants]
    return [tuple(row.get(heading, "") for heading in headings(overviews)) for row in found]


def notes(overviews: Sequence[StackOverview]) -> list[str]:
    """Why numbers of refused objects are unknown, by stack."""
    return [
        f"{each.stack}: what policies would refuse is unknown: {each.violations_error}"
        for each in overviews
        if each.violations_error
    ]


def as_table(overviews: Sequence[StackOverview], width: int = WIDE) -> RenderableType:
    """For a terminal.

    Args:
        width: columns of the terminal; messages follow the table where they have no room in it.
    """
    shown = headings(overviews)[: None if width >= WIDE else -1]
    table = empty_table(shown, right=("violations",), whole=_WHOLE)
    below = []
    for row in rows(overviews):
        # As text, so that square brackets are not markup.
        cells = [Text(cell, STYLES.get(cell, "") if number == 2 else "") for number, cell in enumerate(row)]
        table.add_row(*cells[: len(shown)])
        if len(shown) < len(row) and row[-1]:
            below.append(Text(f"{' '.join(filter(None, row[:2]))}: {row[-1]}"))
    return Group(table, *below, *map(Text, notes(overviews)))


def as_json(overviews: Sequence[StackOverview]) -> str:
    """For programs; docs/tenants.md#a-tenants-life describes the shape."""
    stacks = [
        {
            "stack": each.stack,
            "error": each.error,
            "violationsError": each.violations_error,
            "tenants": [
                {
                    "tenant": line.name,
                    "state": line.health,
                    "lane": line.lane,
                    "revision": line.revision,
                    "changed": line.changed,
                    "quota": asdict(line.quota) if line.quota else None,
                    "violations": line.violations,
                    "message": line.message,
                }
                for line in each.tenants
            ],
        }
        for each in overviews
    ]
    return json.dumps({"stacks": stacks}, indent=2)


def quota_text(quota: QuotaUse | None) -> str:
    """A quota in a cell, without the API group of what it counts."""
    if quota is None:
        return UNKNOWN
    counted = quota.resource.startswith(_COUNT)
    resource = quota.resource.removeprefix(_COUNT).partition(".")[0] if counted else quota.resource
    return f"{quota.percent} % of {resource} in {quota.namespace}"


def short_revision(revision: str) -> str:
    """A revision in a cell: as many digits of its digest as tell it from others."""
    return _DIGEST.sub(r"\1…", revision) or UNKNOWN


def _cells(stack: str, line: TenantLine) -> Mapping[str, str]:
    return {
        "stack": stack,
        "tenant": line.name,
        "state": line.health,
        LANE_HEADING: line.lane or UNKNOWN,
        "revision": short_revision(line.revision),
        "last change": line.changed or UNKNOWN,
        "fullest quota": quota_text(line.quota),
        "violations": UNKNOWN if line.violations is None else str(line.violations),
        "message": line.message,
    }


def show_tenants(stacks: Sequence[str], project: Path, programs: bool = False, policies: bool = True) -> bool:
    """Print all tenants of stacks; return whether one has failed or a stack cannot be read.

    A stack whose cluster does not answer is a row that says so. Changes nothing.

    Args:
        programs: whether the list is for programs, as JSON, or for people, as a table.
        policies: whether to count, by dry runs, the objects that policies would refuse.

    Raises:
        OperationError: a stack has no file.
    """
    run_all(partial(stack_path, each, project) for each in stacks)
    violations = partial(count_violations, project=project) if policies else None
    with waiting(f"Reading the tenants of {', '.join(stacks)}"):
        found = [read_overview(each, project, violations) for each in stacks]
    if programs:
        typer.echo(as_json(found))
    else:
        console = report_console()
        console.print(as_table(found, console.width))
    return any(each.error or any(line.health is Health.FAILED for line in each.tenants) for each in found)
