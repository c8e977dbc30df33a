"""Shows what in the cluster differs from what the last update has applied, for people and for programs.

It needs no right to write: the state has each object as the API server stored it, and `metadata.managedFields` of the
object in the cluster names who has written a field. `kubectl diff --server-side` and `pulumi preview --refresh`
need the right to patch or to read every Secret, and name nobody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from flux_tenancy.components.config.messages import printable, without_passwords
from flux_tenancy.operations.drift.differences import Difference, What, is_former_manager
from flux_tenancy.operations.drift.kyverno_settings import CREATE_KYVERNO, RESTORE_KYVERNO
from flux_tenancy.operations.drift.managed_fields import MISSING
from flux_tenancy.operations.drift.recorded_state import read_applied
from flux_tenancy.operations.drift.search import Drift, find_drift
from flux_tenancy.project.errors import waiting

_LONGEST = 300
# A role binding may have almost any name.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
# Their deletion deletes other objects.
_DELETING = frozenset({"CustomResourceDefinition", "HelmRelease", "Kustomization", "Namespace", "Tenant"})
_HEADINGS = {
    What.MISSING: "missing",
    What.CHANGED: "changed",
    What.ADDED: "added",
    What.FOREIGN: "not of the stack",
    What.LEFT: "left over",
}


def show_drift(stack: str, project: Path, as_json: bool = False) -> bool:
    """Print how the cluster differs from the last update of a stack; return whether it does.

    Raises:
        OperationError: the stack has no objects yet, or the state or the cluster cannot be read.
    """
    with waiting(f"Reading the state of {stack}"):
        recorded = read_applied(stack, project)
    with waiting(f"Comparing the objects of {stack} with its cluster"):
        found, _ = find_drift(recorded, stack, project)
    typer.echo(to_json(found) if as_json else as_text(found, stack))
    return bool(found.differences)


def as_text(drift: Drift, stack: str) -> str:
    """For a terminal; what others have written is escaped."""
    lines = [line for each in drift.differences if not is_former_manager(each) for line in _paragraph(each)]
    if count := sum(map(is_former_manager, drift.differences)):
        managed = f"{count} object{'s' * (count != 1)}"
        lines.append(f"An interrupted update has left its field manager on {managed}; a repair ends that.")
    if drift.unread:
        lines.append(f"Not compared, since this user may not list them: {', '.join(drift.unread)}.")
    return "\n".join([*lines, *_summary(drift, stack)])


def to_json(drift: Drift) -> str:
    """For programs."""
    found = [asdict(each) for each in drift.differences]
    content = {"compared": drift.compared, "unread": drift.unread, "differences": found}
    return without_passwords(
        json.dumps(content, indent=2, default=lambda value: None if value is MISSING else str(value))
    )


def _paragraph(each: Difference) -> Iterator[str]:
    yield f"{_HEADINGS[each.what]}: {each.label}"
    if each.field:
        yield f"  {printable(each.field)}"
    for sign, values in zip("-+", _values(each), strict=True):
        yield from (f"    {sign} {value}" for value in values)
    yield f"  by {printable(each.by) or 'unknown'}, {_minute(each.since)}"
    yield ""


def _summary(drift: Drift, stack: str) -> Iterator[str]:
    if not drift.differences:
        yield f"{drift.compared} objects of the stack are in the cluster as the last update has applied them."
        return
    objects = {(each.kind, each.namespace, each.name) for each in drift.differences}
    differ = "1 object differs" if len(objects) == 1 else f"{len(objects)} objects differ"
    yield f"{differ} from the stack, which has {drift.compared}."
    if any(each.what in (What.MISSING, What.CHANGED, What.ADDED) and each.urn for each in drift.differences):
        yield (
            f"`flux-tenancy drift repair --stack {stack}` restores what is changed and removes what was added; "
            "the next `pulumi up` creates what is missing."
        )
    if any(each.what is What.CHANGED and not each.urn for each in drift.differences):
        yield f"A repair does not restore what is of Kyverno's chart. To restore it: `{RESTORE_KYVERNO}`."
    if any(each.what is What.MISSING and not each.urn for each in drift.differences):
        yield f"No update creates what is missing of Kyverno's chart. To create it: `{CREATE_KYVERNO}`."
    yield from _unowned(drift.differences)


def _unowned(found: Iterable[Difference]) -> Iterator[str]:
    """How to delete what is not of the stack, and what a deletion would take along."""
    unowned = [each for each in found if each.what in (What.FOREIGN, What.LEFT)]
    if any(each.what is What.LEFT for each in unowned):
        # After `pulumi state delete`, the stack still wants the object.
        yield "Leftovers are not in the state. Run `pulumi up` first: it takes over those that the stack describes."
    if containers := [each for each in unowned if each.kind in _DELETING]:
        yield "No command is shown for these, because their deletion also deletes their content or what they applied:"
        yield from (f"  {each.label}" for each in containers)
    if deletable := [each for each in unowned if each.kind not in _DELETING]:
        yield "Leftovers and objects that are not part of the stack are not deleted. To delete them:"
        yield from (f"  {_deletion(each)}" for each in deletable)


def _deletion(each: Difference) -> str:
    """The command that deletes an object; without its name if a shell would interpret that."""
    within = f" -n {each.namespace}" if each.namespace else ""
    name = each.name if _PLAIN.fullmatch(each.name) else "…"
    return f"kubectl delete {each.kind.lower()} {name}{within}"


def _values(each: Difference) -> tuple[list[str], list[str]]:
    """The lines of both values; of two lists, only the items that the other one does not have."""
    stack, cluster = each.stack, each.cluster
    if isinstance(stack, list) and isinstance(cluster, list):
        only = [item for item in stack if item not in cluster], [item for item in cluster if item not in stack]
        if any(only):
            return list(map(_line, only[0])), list(map(_line, only[1]))
    return [] if stack is MISSING else [_line(stack)], [] if cluster is MISSING else [_line(cluster)]


def _line(value: Any) -> str:
    text = printable(value if isinstance(value, str) else json.dumps(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _minute(time: str) -> str:
    try:
        return f"{datetime.fromisoformat(time):%Y-%m-%d %H:%M} UTC"
    except ValueError:  # It is missing, or somebody has written one that no calendar has.
        return "at an unknown time"
