"""One tenant in each stack that lists it: its namespaces, what Flux fetches and applies, quotas, and next steps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import typer
from kubernetes import client
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.stack.files.project import stack_file_name
from flux_tenancy.components.sync.status import fetch_remedy, read_own_syncs, read_start_failures, status_of
from flux_tenancy.components.tenant.config import TenantState
from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION
from flux_tenancy.operations.admission.answers import refusing_policy
from flux_tenancy.operations.files.described_flux import has_syncs
from flux_tenancy.operations.stack.connected import connect_to_read, reaching
from flux_tenancy.operations.tenants.overview import (
    STYLES,
    UNKNOWN,
    UNREACHABLE,
    Health,
    Observed,
    QuotaUse,
    TenantLine,
    observe,
    quota_uses,
    revision_of,
    said_of,
    short_revision,
    tenant_line,
)
from flux_tenancy.project.described_stack import check_listed, described_tenant, listed_tenants
from flux_tenancy.project.errors import OperationError, waiting
from flux_tenancy.review.words import WIDE, empty_table, report_console

# RBAC names the resource when it refuses Helm a definition in `crds/`.
_DEFINITIONS = "customresourcedefinitions"
_HEALTH = {"True": Health.READY, "False": Health.FAILED, "Unknown": Health.RECONCILING}


@dataclass(frozen=True)
class FluxObject:
    """One of Flux's objects of a tenant.

    Attributes:
        kind: e.g. `Kustomization`.
        health: how it is: ready, failed, reconciling or suspended.
        revision: the revision that it has fetched, applied or deployed last; empty if none.
        since: since when it has this revision (a source) or this state, RFC 3339; empty if unknown.
        message: why it is not ready, on one line.
        refused_by: the policy that refuses what it applies; empty if none does.
    """

    kind: str
    namespace: str
    name: str
    health: Health
    revision: str
    since: str
    message: str
    refused_by: str


@dataclass(frozen=True)
class TenantDetails:
    """A tenant in one stack.

    Attributes:
        line: the tenant as `tenant list` shows it; without its number of violations.
        namespaces: its namespaces as the files describe them; the first is its home.
        objects: its sources, syncs and releases in the cluster, sources first; of those that it has created itself, in
            `read_details`, the ones that have failed.
        quotas: what each of its quotas limits and how much of it is used, fullest first.
        error: why nothing is known of it in the cluster; empty otherwise.
        next: how to go on, an instruction each; empty if nothing has to be done.
    """

    stack: str
    line: TenantLine
    namespaces: tuple[str, ...] = ()
    objects: tuple[FluxObject, ...] = ()
    quotas: tuple[QuotaUse, ...] = ()
    error: str = ""
    next: tuple[str, ...] = ()


def read_details(tenant: str, stacks: Sequence[str], project: Path) -> list[TenantDetails]:
    """A tenant in each of some stacks that lists it.

    Raises:
        OperationError: none of the stacks lists it, or one has no file or cannot be read.
    """
    listed = {stack: listed_tenants(stack, project) for stack in stacks}
    if not (found := [stack for stack in stacks if tenant in listed[stack]]):
        names = dict.fromkeys(name for each in listed.values() for name in each)
        check_listed(tenant, names, " or ".join(map(stack_file_name, stacks)) or "any stack")
    return [_details(tenant, stack, project) for stack in found]


def _details(tenant: str, stack: str, project: Path) -> TenantDetails:
    try:
        described = described_tenant(stack, tenant, project).value
    except OperationError as error:
        line = TenantLine(tenant, Health.FAILED, message=said_of(error))
        return TenantDetails(stack, line, next=(error.message.remedy,))
    namespaces = _namespaces_of(described)
    try:
        with reaching(stack):
            api = connect_to_read(stack, project)
            found, _ = observe(api, stack, None)
            details = live_details(api, tenant, stack, described, found)
            own = map(_flux_object, read_own_syncs(api, details.namespaces))
            failed = [each for each in own if each.health is Health.FAILED]
            return replace(details, objects=(*details.objects, *failed), next=(*details.next, *_corrections(failed)))
    except OperationError as error:
        unknown = TenantLine(tenant, Health.ABSENT)
        return TenantDetails(stack, unknown, namespaces, error=said_of(error), next=(error.message.remedy,))


def live_details(
    api: client.ApiClient, tenant: str, stack: str, described: Mapping[str, Any], found: Observed
) -> TenantDetails:
    """As `tenant_details`, with the reasons why Pods do not start, if the tenant is not ready.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    details = tenant_details(tenant, stack, described, found)
    if details.line.health in (Health.FAILED, Health.RECONCILING):
        causes = ("; ".join(each) for each in read_start_failures(api, details.namespaces))
        details = replace(details, next=(*details.next, *causes))
    return details


def tenant_details(tenant: str, stack: str, described: Mapping[str, Any], found: Observed) -> TenantDetails:
    """A tenant by what the files and the cluster have.

    Args:
        described: the tenant as the files describe it.
        found: what the cluster has, by tenant.
    """
    is_leaving = described.get("state") == TenantState.LEAVING
    line = tenant_line(tenant, is_leaving, found, syncs=has_syncs(described))
    objects = tuple(map(_flux_object, found.objects.get(tenant, ())))
    quotas = sorted(quota_uses(found.quotas.get(tenant, ())), key=lambda use: -use.percent)
    namespaces = _namespaces_of(described)
    next_steps = tuple(_next_steps(line, stack, objects))
    return TenantDetails(stack, line, namespaces, objects, tuple(quotas), next=next_steps)


def _flux_object(found: Mapping[str, Any]) -> FluxObject:
    metadata, status = found["metadata"], status_of(found)
    suspended = (found.get("spec") or {}).get("suspend")
    return FluxObject(
        found["kind"],
        metadata["namespace"],
        metadata["name"],
        Health.SUSPENDED if suspended else _HEALTH[status.ready],
        revision_of(found),
        _since(found.get("status") or {}),
        "" if suspended else status.message,
        "" if suspended else refusing_policy(status.message),
    )


def _since(status: Mapping[str, Any]) -> str:
    times = [(status.get("artifact") or {}).get("lastUpdateTime")]
    times += [each.get("lastTransitionTime") for each in status.get("conditions") or () if each["type"] == "Ready"]
    return printable(str(next(filter(None, times), "")))


def _next_steps(line: TenantLine, stack: str, objects: Sequence[FluxObject]) -> list[str]:
    """How to go on with a tenant that is not ready."""
    of_stack = f"--stack {stack}"
    match line.health:
        case Health.SUSPENDED:
            return [f"let Flux apply again: remove `suspend: true` of {line.name}, then run `pulumi up {of_stack}`"]
        case Health.FROZEN:
            return [f"wait, or, as the platform team, grant {line.name} an exception from the policy freeze"]
        case Health.ABSENT:
            return [f"create it in the cluster: `pulumi up {of_stack}`"]
        case Health.LEAVING if objects:
            return [f"end its access and its sync: `pulumi up {of_stack}`"]
        case Health.LEAVING:
            return [f"delete its namespaces, too: `flux-tenancy tenant offboard {line.name} {of_stack}`"]
    return _corrections([each for each in objects if each.health is Health.FAILED])


def _correction(failed: FluxObject) -> str:
    name = f"{failed.kind} {failed.name}"
    if missing := fetch_remedy(failed.message):
        return f"{name}: {missing}"
    if failed.refused_by:
        return (
            f"policy {failed.refused_by} refuses an object of {name}: correct what its message says, or have the "
            "platform team grant it (docs/grants.md)"
        )
    describe = f"kubectl describe {failed.kind.lower()} {quote(failed.name)} --namespace {quote(failed.namespace)}"
    return f"correct what the message of {name} says; its events: `{describe}`"


def _corrections(failed: Sequence[FluxObject]) -> list[str]:
    """How to go on with objects that have failed."""
    # What waits for a source fails with it.
    sources = [each for each in failed if each.kind not in (KUSTOMIZATION, HELM_RELEASE)]
    steps = [_correction(each) for each in sources or failed]
    if any(each.kind == HELM_RELEASE and _DEFINITIONS in each.message for each in failed):
        steps.append(
            "leave the definitions in `crds/` of the chart to the platform team: `install: {crds: Skip}` and "
            "`upgrade: {crds: Skip}` in the HelmRelease"
        )
    return steps


def _namespaces_of(described: Mapping[str, Any]) -> tuple[str, ...]:
    """The namespaces of a tenant that need not be valid."""
    listed = described.get("namespaces")
    return tuple(
        str(each["name"])
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, Mapping) and "name" in each
    )


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
