"""One tenant in detail, as tables for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION
from flux_tenancy.operations.tenants.details import FluxObject, TenantDetails, read_details
from flux_tenancy.operations.tenants.overview import Health
from flux_tenancy.operations.tenants.overview_text import STYLES, UNKNOWN, UNREACHABLE, short_revision
from flux_tenancy.project.errors import waiting
from flux_tenancy.review.words import WIDE, empty_table, report_console

_OBJECTS = ("kind", "namespace", "name", "state", "revision", "message")
_QUOTAS = ("namespace", "resource", "used", "limit", "percent")


def details_table(details: Sequence[TenantDetails], width: int = WIDE) -> RenderableType:
    """For a terminal: a part for each stack.

    Args:
        width: columns of the terminal; messages follow the table where they have no room in it.
    """
    return Group(*(part for each in details for part in _parts(each, width >= WIDE)))


def details_json(details: Sequence[TenantDetails]) -> str:
    """For programs; docs/tenants.md#a-tenants-life describes the shape."""
    [tenant] = {each.line.name for each in details}
    return json.dumps({"tenant": tenant, "stacks": [details_entry(each) for each in details]}, indent=2)


def details_entry(each: TenantDetails) -> dict[str, Any]:
    """A tenant in one stack, for programs."""
    line = each.line
    return {
        "stack": each.stack,
        "error": each.error,
        "state": _state(each),
        "lane": line.lane,
        "message": line.message,
        "revision": line.revision,
        "changed": line.changed,
        "namespaces": each.namespaces,
        "sources": [_object(found) for found in each.objects if found.kind not in (KUSTOMIZATION, HELM_RELEASE)],
        "syncs": [_object(found) for found in each.objects if found.kind == KUSTOMIZATION],
        "releases": [_object(found) for found in each.objects if found.kind == HELM_RELEASE],
        "quotas": [asdict(use) for use in each.quotas],
        "next": each.next,
    }


def _object(found: FluxObject) -> dict[str, str]:
    return {
        "kind": found.kind,
        "namespace": found.namespace,
        "name": found.name,
        "state": found.health,
        "revision": found.revision,
        "since": found.since,
        "message": found.message,
        "refusedBy": found.refused_by,
    }


def _state(each: TenantDetails) -> str:
    return UNREACHABLE if each.error else each.line.health


def _parts(each: TenantDetails, is_wide: bool) -> Iterator[RenderableType]:
    line, state = each.line, _state(each)
    facts = Table.grid(padding=(0, 2))
    for name, value in (
        ("state", Text(state, STYLES.get(state, ""))),
        *([("lane", Text(line.lane))] if line.lane else []),
        ("message", Text(each.error or line.message or UNKNOWN)),
        ("revision", Text(short_revision(line.revision))),
        ("last change", Text(line.changed or UNKNOWN)),
        ("namespaces", Text(", ".join(each.namespaces) or UNKNOWN)),
    ):
        facts.add_row(Text(name), value)
    yield Text(f"Tenant {line.name} in stack {each.stack}", "bold")
    yield Padding(facts, (0, 0, 0, 2))
    if each.objects:
        table = empty_table(_OBJECTS[: None if is_wide else -1], whole=_OBJECTS[:-1])
        for found in each.objects:
            cells = (
                Text(found.kind),
                Text(found.namespace),
                Text(found.name),
                Text(found.health, STYLES.get(found.health, "")),
                Text(short_revision(found.revision)),
                Text(found.message),
            )
            table.add_row(*cells[: None if is_wide else -1])
        yield table
        for found in each.objects if not is_wide else ():
            if found.message:
                yield Text(f"  {found.kind} {found.name}: {found.message}")
    if each.quotas:
        used = [use for use in each.quotas if use.percent]
        table = empty_table(_QUOTAS)
        for use in used:
            table.add_row(*map(Text, (use.namespace, use.resource, use.used, use.hard, f"{use.percent} %")))
        if used:
            yield table
        if len(used) < len(each.quotas):
            yield Text(f"  Below 1 %: {len(each.quotas) - len(used)} further limits; `-o json` lists them.")
    for step in each.next:
        yield Text(f"  Next: {step}")
    yield Text("")


def show_tenant(tenant: str, stacks: Sequence[str], project: Path, *, as_json: bool) -> bool:
    """Print a tenant in each of some stacks that lists it; return whether it has failed or a cluster is unreachable.

    Raises:
        OperationError: none of the stacks lists it, or one has no file or cannot be read.
    """
    with waiting(f"Reading tenant {tenant} in {', '.join(stacks)}"):
        details = read_details(tenant, stacks, project)
    if as_json:
        typer.echo(details_json(details))
    else:
        console = report_console()
        console.print(details_table(details, console.width))
    return any(each.error or each.line.health is Health.FAILED for each in details)
