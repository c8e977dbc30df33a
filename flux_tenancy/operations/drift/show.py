"""Shows what in the cluster differs from what the last update has applied, by whom and since when.

It needs no right to write: the state has each object as the API server stored it, and `metadata.managedFields` of the
object in the cluster names who has written a field. `kubectl diff --server-side` and `pulumi preview --refresh`
need the right to patch or to read every Secret, and name nobody.
"""

from __future__ import annotations

from pathlib import Path

import typer

from flux_tenancy.components.config.messages import Message
from flux_tenancy.operations.drift.recorded_state import read_recorded
from flux_tenancy.operations.drift.search import find_drift
from flux_tenancy.operations.drift.text import as_json as drift_json
from flux_tenancy.operations.drift.text import as_text
from flux_tenancy.project.errors import OperationError
from flux_tenancy.project.waiting import waiting


def show_drift(stack: str, project: Path, as_json: bool = False) -> bool:
    """Print how the cluster differs from the last update of a stack; return whether it does.

    Raises:
        OperationError: the stack has no objects yet, or the state or the cluster cannot be read.
    """
    with waiting(f"Reading the state of {stack}"):
        recorded = read_recorded(stack, project)
    if not recorded.objects:
        raise OperationError(
            Message(
                "FT-OPS-050",
                f"the state of stack {stack} has no objects of a cluster",
                "apply the stack first: `pulumi up`",
            )
        )
    with waiting(f"Comparing the objects of {stack} with its cluster"):
        found, _ = find_drift(recorded, stack, project)
    typer.echo(drift_json(found) if as_json else as_text(found, stack))
    return bool(found.differences)
