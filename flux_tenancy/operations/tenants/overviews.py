"""Shows all tenants of stacks, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import typer

from flux_tenancy.operations.tenants.overview import Health, read_overview
from flux_tenancy.operations.tenants.overview_text import as_json, as_table
from flux_tenancy.operations.tenants.violations import count_violations
from flux_tenancy.project.described_stack import stack_path
from flux_tenancy.project.errors import run_all
from flux_tenancy.project.waiting import waiting
from flux_tenancy.review.words.tables import report_console


def show_tenants(stacks: Sequence[str], project: Path, programs: bool = False, policies: bool = True) -> bool:
    """Print all tenants of stacks; return whether one has failed or a stack cannot be read.

    A stack whose cluster does not answer is a row that says so. Changes nothing.

    Args:
        stacks: names of the stacks.
        project: folder of the Pulumi project.
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
