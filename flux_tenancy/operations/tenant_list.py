"""Shows all tenants of stacks: as a table, as JSON, or as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

import typer

from flux_tenancy.operations.tenant_overview import Health, read_overview
from flux_tenancy.operations.tenant_overview_text import as_json, as_table
from flux_tenancy.operations.tenant_page import as_html
from flux_tenancy.operations.tenant_violations import count_violations
from flux_tenancy.project.described_stack import stack_path
from flux_tenancy.project.errors import run_all
from flux_tenancy.review.words.tables import report_console


def show_tenants(
    stacks: Sequence[str], project: Path, output: Literal["table", "json", "html"] = "table", policies: bool = True
) -> bool:
    """Print all tenants of stacks; return whether one has failed or a stack cannot be read.

    A stack whose cluster does not answer is a row that says so. Changes nothing.

    Args:
        stacks: names of the stacks.
        project: folder of the Pulumi project.
        output: the format.
        policies: whether to count, by dry runs, the objects that policies would refuse.

    Raises:
        OperationError: a stack has no file.
    """
    run_all(partial(stack_path, each, project) for each in stacks)
    violations = partial(count_violations, project=project) if policies else None
    found = [read_overview(each, project, violations) for each in stacks]
    if output == "table":
        report_console().print(as_table(found))
    elif output == "json":
        typer.echo(as_json(found))
    else:
        typer.echo(as_html(found, f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"), nl=False)
    return any(each.error or any(line.health is Health.FAILED for line in each.tenants) for each in found)
