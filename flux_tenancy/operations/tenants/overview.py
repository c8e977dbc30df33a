"""How each tenant of stacks is: whether it is ready, with what, how full its quotas are, what policies refuse."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import typer
from kubernetes import client
from rich.console import Group, RenderableType
from rich.text import Text

from flux_tenancy.components.cluster.client import ClusterUnavailable, explaining, items
from flux_tenancy.components.config.errors import Problem, coded
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.config.types import now
from flux_tenancy.components.installs.flux.release import lane_of
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.rendering import object_name
from flux_tenancy.components.stack.files.tenant_files import MergedTenant
from flux_tenancy.components.sync.status import ALL, read_syncs, status_of
from flux_tenancy.components.tenant.config import TenantState
from flux_tenancy.components.tenant.freezes import InForce, freeze_in_force
from flux_tenancy.components.vocabulary.manifests import parse_quantity
from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION, TENANT_LABEL
from flux_tenancy.operations.admission.report import count_violations
from flux_tenancy.operations.files.described_flux import has_syncs
from flux_tenancy.operations.stack.connected import connect_to_read, reaching
from flux_tenancy.operations.tenants.budgets import read_budgets
from flux_tenancy.project.described_stack import described_tenants, stack_path
from flux_tenancy.project.errors import OperationError, invalid, run_all, waiting
from flux_tenancy.review.words import WIDE, empty_table, report_console

# Of Kustomizations. Source: https://fluxcd.io/flux/components/kustomize/kustomizations/#history
_RECONCILED = "ReconciliationSucceeded"


class Health(StrEnum):
    """How a tenant's sync is."""

    READY = "ready"
    FAILED = "failed"
    RECONCILING = "reconciling"
    SUSPENDED = "suspended"
    FROZEN = "frozen"
    LEAVING = "leaving"
    ABSENT = "absent"


@dataclass(frozen=True)
class QuotaUse:
    """The resource of a tenant's quotas that is closest to its limit.

    Attributes:
        namespace: namespace of the quota.
        resource: e.g. `pods`.
        used: how much of it is used, as Kubernetes writes it.
        percent: used of hard, rounded down.
    """

    namespace: str
    resource: str
    used: str
    hard: str
    percent: int


@dataclass(frozen=True)
class TenantLine:
    """A tenant in one stack.

    Attributes:
        health: how its sync is; `absent` if the cluster has none.
        revision: the revision that Flux has applied last; empty if it has applied none.
        changed: when Flux has applied other manifests for the last time, RFC 3339; empty if never.
        quota: its fullest quota, if it has any.
        violations: number of its objects that policies would refuse; None if that is unknown.
        message: why it is not ready, on one line.
        lane: the lane whose controllers serve it; empty without lanes.
        budget: share of its late minutes that is left, negative if there were more; None if that is unknown.
    """

    name: str
    health: Health
    revision: str = ""
    changed: str = ""
    quota: QuotaUse | None = None
    violations: int | None = None
    message: str = ""
    lane: str = ""
    budget: float | None = None


@dataclass(frozen=True)
class StackOverview:
    """The tenants of one stack.

    Attributes:
        tenants: its tenants, in the order of its file.
        error: why nothing is known of them; empty otherwise.
        violations_error: why the violations are unknown; empty otherwise.
    """

    stack: str
    tenants: tuple[TenantLine, ...] = ()
    error: str = ""
    violations_error: str = ""


@dataclass(frozen=True)
class Observed:
    """What a cluster has, by tenant.

    Attributes:
        objects: what Flux fetches and applies for it, sources first.
        violations: number of objects that policies would refuse; None if it is unknown.
        freezes: the freezes that hold tenants now.
        budgets: share of the late minutes that is left; without the tenants of which it is unknown.
    """

    objects: Mapping[str, Sequence[Mapping[str, Any]]]
    quotas: Mapping[str, Sequence[Mapping[str, Any]]]
    violations: Counter[str] | None
    freezes: Mapping[str, InForce] = field(default_factory=dict)
    budgets: Mapping[str, float] = field(default_factory=dict)


Violations = Callable[[client.ApiClient, str], Counter[str]]
"""Number of objects that the policies of a stack would refuse, by tenant."""


def read_overview(
    stack: str,
    project: Path,
    violations: Violations | None,
    budgets: Mapping[str, float] | None = None,
) -> StackOverview:
    """The tenants of a stack; why nothing is known of them is part of the answer.

    Args:
        violations: how to count what policies would refuse; None leaves it out.
        budgets: as `read_budgets` returns them.
    """
    try:
        described = described_tenants(stack, project)
        with reaching(stack):
            found, error = observe(connect_to_read(stack, project), stack, violations)
        found = replace(found, budgets=budgets or {})
        lines = tuple(_line(name, merged, found) for name, merged in described.items())
    except OperationError as failure:
        return StackOverview(stack, error=said_of(failure))
    return StackOverview(stack, lines, violations_error=error)


def tenant_line(name: str, is_leaving: bool, found: Observed, *, syncs: bool = True) -> TenantLine:
    """One tenant, by what the cluster has; revision and last change are those of its first sync.

    Args:
        is_leaving: whether it is leaving.
        syncs: whether Flux applies folders for it; otherwise its first release stands for them.
    """
    objects = found.objects.get(name, ())
    first = (KUSTOMIZATION, name)
    if not syncs:
        first = next(
            ((HELM_RELEASE, each["metadata"]["name"]) for each in objects if each["kind"] == HELM_RELEASE), first
        )
    sync = next((each for each in objects if (each["kind"], each["metadata"]["name"]) == first), None)
    quota = fullest(found.quotas.get(name, ()))
    violations = found.violations[name] if found.violations is not None else None
    budget = found.budgets.get(name)
    if sync is None:
        health = Health.LEAVING if is_leaving else Health.ABSENT
        return TenantLine(name, health, quota=quota, violations=violations, budget=budget)
    status = sync.get("status") or {}
    health, message = _health(sync, objects)
    if freeze := found.freezes.get(name):
        health, message = _frozen(freeze, health, message)
    history = status.get("history") or [{}]
    return TenantLine(
        name,
        Health.LEAVING if is_leaving else health,
        revision_of(sync),
        _last_change(history),
        quota,
        violations,
        message,
        lane_of(sync),
        budget,
    )


def _last_change(history: Sequence[Mapping[str, Any]]) -> str:
    """When what runs was first applied; Flux's history has the newest entry first, and one for each failed attempt."""
    applied = (each for each in history if each.get("lastReconciledStatus") in (None, _RECONCILED))
    entry = next(applied, history[0])
    return printable(str(entry.get("firstReconciled") or entry.get("lastDeployed") or ""))


def revision_of(found: Mapping[str, Any]) -> str:
    """The revision that a source has fetched, a sync has applied or a release has deployed last; empty if none."""
    status = found.get("status") or {}
    fetched, history = status.get("artifact") or {}, status.get("history") or [{}]
    revision = status.get("lastAppliedRevision") or fetched.get("revision") or history[0].get("chartVersion")
    return printable(str(revision or ""))


def said_of(error: OperationError) -> str:
    """The message of an error with its code, on one line."""
    return printable(coded(error.message.sentence))


def fullest(quotas: Iterable[Mapping[str, Any]]) -> QuotaUse | None:
    """The resource that is closest to its limit; the first of several. Limits of zero forbid and do not fill up.

    Source: https://kubernetes.io/docs/concepts/policy/resource-quotas/
    """
    return max(quota_uses(quotas), key=lambda use: use.percent, default=None)


def quota_uses(quotas: Iterable[Mapping[str, Any]]) -> list[QuotaUse]:
    """Each resource that quotas limit to more than zero."""
    uses = []
    for quota in quotas:
        status = quota.get("status") or {}
        for resource, hard in (status.get("hard") or {}).items():
            used = (status.get("used") or {}).get(resource, "0")
            limit = parse_quantity(hard)
            if limit > 0:
                percent = int(parse_quantity(used) * 100 / limit)
                uses.append(QuotaUse(quota["metadata"]["namespace"], resource, str(used), str(hard), percent))
    return uses


def _health(sync: Mapping[str, Any], objects: Iterable[Mapping[str, Any]]) -> tuple[Health, str]:
    """The health of a tenant, and why it is not ready: what has failed first, sources before what waits for them."""
    if sync["spec"].get("suspend"):
        return Health.SUSPENDED, ""
    statuses = [(each, status_of(each)) for each in objects if not (each.get("spec") or {}).get("suspend")]
    for ready, health in (("False", Health.FAILED), ("Unknown", Health.RECONCILING)):
        for each, status in statuses:
            if status.ready == ready:
                kind, name = each["kind"], each["metadata"]["name"]
                # The first sync and its source have the tenant's name.
                of_further = "" if name == sync["metadata"]["name"] else f"{kind} {name}: "
                return health, f"{of_further}{status.message}"
    return Health.READY, ""


def _frozen(freeze: InForce, health: Health, message: str) -> tuple[Health, str]:
    """The health of a tenant in a freeze: a change that waits for its end is no failure."""
    waits = object_name(PolicyName.FREEZE) in message
    if not (waits or health is Health.READY):
        return health, message
    return Health.FROZEN, f"until {freeze.end}: {freeze.reason}{'; a change waits' if waits else ''}"


def _line(name: str, merged: MergedTenant | Problem, found: Observed) -> TenantLine:
    if isinstance(merged, Problem):
        return TenantLine(name, Health.FAILED, message=said_of(invalid(merged)))
    described = merged.value
    return tenant_line(name, described.get("state") == TenantState.LEAVING, found, syncs=has_syncs(described))


def observe(api: client.ApiClient, stack: str, violations: Violations | None) -> tuple[Observed, str]:
    """What the cluster has by tenant, and why violations are unknown; empty if they are known or not wanted.

    Args:
        violations: how to count what policies would refuse; None leaves it out.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    objects = read_syncs(api, ALL)
    with explaining(api):
        freezes = {}
        for namespace in items(api, "/api/v1/namespaces", labelSelector=TENANT_LABEL):
            metadata = namespace["metadata"]
            if freeze := freeze_in_force(metadata.get("annotations") or {}, now()):
                freezes[metadata["labels"][TENANT_LABEL]] = freeze
        quotas: dict[str, list[Mapping[str, Any]]] = {}
        for quota in items(api, "/api/v1/resourcequotas", labelSelector=TENANT_LABEL):
            quotas.setdefault(quota["metadata"]["labels"][TENANT_LABEL], []).append(quota)
    counted, error = None, ""
    if violations is not None:
        try:
            with explaining(api):
                counted = violations(api, stack)
        except OperationError as failure:
            error = said_of(failure)
        except ClusterUnavailable as failure:
            error = printable(str(failure))
    by_tenant: dict[str, list[Mapping[str, Any]]] = {}
    for each in sorted(objects, key=lambda each: each["kind"] in (KUSTOMIZATION, HELM_RELEASE)):
        if tenant := (each["metadata"].get("labels") or {}).get(TENANT_LABEL):
            by_tenant.setdefault(tenant, []).append(each)
    return Observed(by_tenant, quotas, counted, freezes), error


LANE_HEADING, BUDGET_HEADING = "lane", "budget"
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
    """The columns: one more if a tenant has a lane, and one if its budget is known."""
    lines = [line for each in overviews for line in each.tenants]
    lanes = [LANE_HEADING] if any(line.lane for line in lines) else []
    budgets = [BUDGET_HEADING] if any(line.budget is not None for line in lines) else []
    return [*HEADINGS[:3], *lanes, *HEADINGS[3:5], *budgets, *HEADINGS[5:]]


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
    table = empty_table(shown, right=(BUDGET_HEADING, "violations"), whole=_WHOLE)
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
                    "budget": line.budget,
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
        BUDGET_HEADING: UNKNOWN if line.budget is None else f"{round(line.budget * 100)} %",
        "fullest quota": quota_text(line.quota),
        "violations": UNKNOWN if line.violations is None else str(line.violations),
        "message": line.message,
    }


def show_tenants(
    stacks: Sequence[str], project: Path, programs: bool = False, policies: bool = True, prometheus: str | None = None
) -> bool:
    """Print all tenants of stacks; return whether one has failed or a stack cannot be read.

    A stack whose cluster does not answer is a row that says so. Changes nothing.

    Args:
        programs: whether the list is for programs, as JSON, or for people, as a table.
        policies: whether to count, by dry runs, the objects that policies would refuse.
        prometheus: URL of the Prometheus that knows the budgets; None leaves them out.

    Raises:
        OperationError: a stack has no file, or Prometheus does not know the budgets.
    """
    run_all(partial(stack_path, each, project) for each in stacks)
    budgets = read_budgets(prometheus, stacks) if prometheus else None
    violations = partial(count_violations, project=project) if policies else None
    with waiting(f"Reading the tenants of {', '.join(stacks)}"):
        found = [read_overview(each, project, violations, budgets=budgets) for each in stacks]
    if programs:
        typer.echo(as_json(found))
    else:
        console = report_console()
        console.print(as_table(found, console.width))
    return any(each.error or any(line.health is Health.FAILED for line in each.tenants) for each in found)
