"""One tenant in each stack that lists it: its namespaces, what Flux fetches and applies for it, and its quotas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.git.fetch_status import missing_remedy
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.components.sync.start_failures import read_start_failures
from flux_tenancy.components.sync.status import status_of
from flux_tenancy.components.tenant.config import TenantState
from flux_tenancy.components.vocabulary.names import HELM_RELEASE, KUSTOMIZATION
from flux_tenancy.operations.files.described_flux import has_syncs
from flux_tenancy.operations.stack.connected import connect_to_read
from flux_tenancy.operations.tenants.live import namespaces_of
from flux_tenancy.operations.tenants.overview import (
    Health,
    Observed,
    QuotaUse,
    TenantLine,
    observe,
    quota_uses,
    revision_of,
    said_of,
    tenant_line,
)
from flux_tenancy.project.described_stack import described_tenant, listed_tenants
from flux_tenancy.project.errors import OperationError, invalid

# RBAC names the resource when it refuses Helm a definition in `crds/`.
_DEFINITIONS = "customresourcedefinitions"
_HEALTH = {"True": Health.READY, "False": Health.FAILED, "Unknown": Health.RECONCILING}


@dataclass(frozen=True)
class FluxObject:
    """One of Flux's objects of a tenant.

    Attributes:
        kind: e.g. `Kustomization`.
        namespace: its namespace.
        name: its name.
        health: how it is: ready, failed, reconciling or suspended.
        revision: the revision that it has fetched, applied or deployed last; empty if none.
        message: why it is not ready, on one line.
    """

    kind: str
    namespace: str
    name: str
    health: Health
    revision: str
    message: str


@dataclass(frozen=True)
class TenantDetails:
    """A tenant in one stack.

    Attributes:
        stack: name of the stack.
        line: the tenant as `tenant list` shows it; without its number of violations.
        namespaces: its namespaces as the files describe them; the first is its home.
        objects: its sources, syncs and releases in the cluster, sources first.
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
        raise OperationError(
            Message(
                "FT-OPS-314",
                f"tenant {tenant} is not listed in {' or '.join(map(stack_file_name, stacks)) or 'any stack'}",
                f"name one of these: {', '.join(names) or 'none is listed yet'}",
            )
        )
    return [_details(tenant, stack, project) for stack in found]


def _details(tenant: str, stack: str, project: Path) -> TenantDetails:
    try:
        described = described_tenant(stack, tenant, project).value
    except OperationError as error:
        line = TenantLine(tenant, Health.FAILED, message=said_of(error))
        return TenantDetails(stack, line, next=(error.message.remedy,))
    namespaces = namespaces_of(described)
    try:
        try:
            api = connect_to_read(stack, project)
            found, _ = observe(api, stack, None)
            details = tenant_details(tenant, stack, described, found)
            if details.line.health in (Health.FAILED, Health.RECONCILING):
                causes = ("; ".join(each) for each in read_start_failures(api, namespaces))
                details = replace(details, next=(*details.next, *causes))
        except ClusterUnavailable as error:
            raise invalid(error.as_problem(stack_file_name(stack))) from None
    except OperationError as error:
        unknown = TenantLine(tenant, Health.ABSENT)
        return TenantDetails(stack, unknown, namespaces, error=said_of(error), next=(error.message.remedy,))
    return details


def tenant_details(tenant: str, stack: str, described: Mapping[str, Any], found: Observed) -> TenantDetails:
    """A tenant by what the files and the cluster have.

    Args:
        tenant: its name.
        stack: name of the stack.
        described: the tenant as the files describe it.
        found: what the cluster has, by tenant.
    """
    is_leaving = described.get("state") == TenantState.LEAVING
    line = tenant_line(tenant, is_leaving, found, syncs=has_syncs(described))
    objects = tuple(map(_flux_object, found.objects.get(tenant, ())))
    quotas = sorted(quota_uses(found.quotas.get(tenant, ())), key=lambda use: -use.percent)
    namespaces = namespaces_of(described)
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
        "" if suspended else status.message,
    )


def _next_steps(line: TenantLine, stack: str, objects: Sequence[FluxObject]) -> list[str]:
    """How to go on with a tenant that is not ready."""
    of_stack = f"--stack {stack}"
    match line.health:
        case Health.SUSPENDED:
            return [f"let Flux apply again: `flux-tenancy tenant resume {line.name} {of_stack}`, then `pulumi up`"]
        case Health.FROZEN:
            return [f"wait, or, as the platform team, grant {line.name} an exception from the policy freeze"]
        case Health.ABSENT:
            return [f"create it in the cluster: `pulumi up {of_stack}`"]
        case Health.LEAVING if objects:
            return [f"end its access and its sync: `pulumi up {of_stack}`"]
        case Health.LEAVING:
            return [f"delete its namespaces, too: `flux-tenancy tenant offboard {line.name} {of_stack}`"]
    failed = [each for each in objects if each.health is Health.FAILED]
    # What waits for a source fails with it.
    sources = [each for each in failed if each.kind not in (KUSTOMIZATION, HELM_RELEASE)]
    steps = [
        f"{each.kind} {each.name}: {missing}"
        if (missing := missing_remedy(each.message))
        else f"correct what the message of {each.kind} {each.name} says; its events: `kubectl describe "
        f"{each.kind.lower()} {quote(each.name)} --namespace {quote(each.namespace)}`"
        for each in sources or failed
    ]
    if any(each.kind == HELM_RELEASE and _DEFINITIONS in each.message for each in failed):
        steps.append(
            "leave the definitions in `crds/` of the chart to the platform team: `install: {crds: Skip}` and "
            "`upgrade: {crds: Skip}` in the HelmRelease"
        )
    return steps
