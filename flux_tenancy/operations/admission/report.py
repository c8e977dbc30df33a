"""Shows which running objects of tenants the policies would refuse, before they are enforced.

It sends the API server a dry run of every such object, so each engine answers for itself.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

import typer
from kubernetes import client
from rich.console import Group, RenderableType
from rich.text import Text

from flux_tenancy.components.cluster.client import explaining
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.config.types import today
from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import Policy, PolicyName, Requester
from flux_tenancy.components.policies.table import is_needed, policies
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.project import stack_file_name
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.components.tenant.grants import Grant, has_expired, in_words, relaxed_policies
from flux_tenancy.operations.admission.findings import Findings, Place, Violation, closed_kinds, find
from flux_tenancy.operations.admission.policies import PolicyInForce, check_in_force, policies_in_force
from flux_tenancy.operations.stack.connected import connect_to_read, reaching
from flux_tenancy.project.described_stack import described_file
from flux_tenancy.project.errors import reading_files, waiting
from flux_tenancy.review.words import report_console, table_of


def show_violations(stack: str, project: Path, is_json: bool = False) -> bool:
    """Print which running objects the stack's policies would refuse; return whether there are any.

    Also prints the grants of tenants, with the objects that run only because of them. Changes nothing.

    Raises:
        OperationError: the stack is not valid or has no policies, or the cluster does not evaluate them or answer.
    """
    config, content = _applied(stack, project)
    grants = {name: tenant.grants for name, tenant in config.tenants.items() if tenant.grants}
    with reaching(stack):
        api = connect_to_read(stack, project)
        with waiting(f"Sending the objects of {stack} to its policies"), explaining(api):
            in_force = policies_in_force(api)
            check_in_force(stack_file_name(stack), config.policies, content, in_force)
            found = find(api, content, {tenant: relaxed_policies(given) for tenant, given in grants.items()})
            closed = closed_kinds(api, config.tenancy.kinds, in_force)
    found = replace(found, findings=sorted([*found.findings, *closed]))
    names = [PolicyName.ALLOWED_KINDS, *(policy.name for policy in content)]
    granted = grant_lines(grants, today())
    in_force = [each for each in in_force if each.policy in names]
    if is_json:
        typer.echo(as_json(found, in_force, granted))
    else:
        report_console().print(as_table(found, in_force, granted))
    return bool(found.findings)


def count_violations(api: client.ApiClient, stack: str, project: Path) -> Counter[str]:
    """The number of objects that policies would refuse, by tenant.

    Raises:
        OperationError: as `refused_objects`.
        ApiException: the API server refuses to list objects.
    """
    return Counter(place.tenant for place in {each.place for each in refused_objects(api, stack, project)})


def refused_objects(api: client.ApiClient, stack: str, project: Path) -> list[Violation]:
    """Dry-run every object that a content policy matches.

    Raises:
        OperationError: the stack has no policies, the cluster lacks some, or an answer does not come from them.
        ApiException: the API server refuses to list objects.
    """
    config, content = _applied(stack, project)
    check_in_force(stack_file_name(stack), config.policies, content, policies_in_force(api))
    return find(api, content).findings


def _applied(stack: str, project: Path) -> tuple[StackConfig, list[Policy]]:
    """A stack with stand-ins for its secrets, and its policies about what tenants' objects contain.

    Sections are not compared, since grants that have expired still apply.

    Raises:
        OperationError: the stack does not exist, or a section of it is not valid.
    """
    described_file(stack, project)  # An unknown stack is refused with the names of those that exist.
    with reading_files():
        config, _ = load_offline(stack, project, compare=False)
    lanes = bool(config.flux.lanes)
    needed = [
        each
        for each in policies(config.policies)
        if each.subject is Requester.CONTENT
        and is_needed(each, config.policies, developers=False, lanes=lanes, freezes=False)
    ]
    return config, needed


@dataclass(frozen=True)
class GrantLine:
    """Something that a grant allows.

    Attributes:
        allows: what it allows.
        expires: the last day on which it holds; None for no end.
        expired: whether that day has passed.
    """

    tenant: str
    allows: str
    reason: str
    expires: date | None
    expired: bool

    @property
    def until(self) -> str:
        """The last day for a table."""
        day = "" if self.expires is None else self.expires.isoformat()
        return f"{day} (expired)" if self.expired else day


def grant_lines(grants: Mapping[str, Iterable[Grant]], today: date) -> list[GrantLine]:
    """What the grants of tenants allow, a line for each part."""
    return [
        GrantLine(tenant, printable(allows), printable(grant.reason), grant.expires, has_expired(grant, today))
        for tenant, given in grants.items()
        for grant in given
        for allows in in_words(grant)
    ]


@dataclass(frozen=True)
class PolicyLine:
    """The summary of one policy.

    Attributes:
        objects: number of objects that it objects to.
    """

    policy: PolicyName
    mode: PolicyMode
    engines: tuple[PolicyEngine, ...]
    objects: int


def summary(found: Findings, in_force: Sequence[PolicyInForce]) -> list[PolicyLine]:
    """A line for each policy and mode, in the order of their names.

    Policies that object without being in the list, such as Kyverno's image policies, are included.
    """
    engines: dict[tuple[PolicyName, PolicyMode], set[PolicyEngine]] = defaultdict(set)
    for each in in_force:
        engines[each.policy, each.mode].add(each.engine)
    objects: dict[tuple[PolicyName, PolicyMode], set[Place]] = defaultdict(set)
    for finding in found.findings:
        engines[finding.policy, finding.mode] |= set(finding.engines)
        objects[finding.policy, finding.mode].add(finding.place)
    return [
        PolicyLine(policy, mode, tuple(sorted(by)), len(objects[policy, mode]))
        for (policy, mode), by in sorted(engines.items())
    ]


def as_table(found: Findings, in_force: Sequence[PolicyInForce], grants: Sequence[GrantLine] = ()) -> RenderableType:
    """For a terminal."""
    parts: list[RenderableType] = []
    if grants:
        parts.append(Text("What tenants are granted:"))
        granted = [(each.tenant, each.allows, each.reason, each.until) for each in grants]
        parts.append(table_of(("tenant", "grant", "reason", "expires"), granted))
    if found.granted:
        parts.append(Text("What would be refused without a grant:"))
        rows = [(*_where(each.place), each.policy) for each in found.granted]
        parts.append(table_of(("tenant", "namespace", "object", "policy"), rows))
    if found.findings:
        violations = [
            (*_where(each.place), each.policy, ", ".join(each.engines), each.message) for each in found.findings
        ]
        parts.append(table_of(("tenant", "namespace", "object", "policy", "engine", "message"), violations))
    if found.others:
        parts.append(Text("Refused by something other than the policies:"))
        others = [(*_where(each.place), each.reason) for each in found.others]
        parts.append(table_of(("tenant", "namespace", "object", "reason"), others))
    lines = [(line.policy, line.mode, ", ".join(line.engines), str(line.objects)) for line in summary(found, in_force)]
    parts.append(table_of(("policy", "mode", "engine", "objects"), lines, right=("objects",)))
    parts.append(Text(_sentence(found)))
    return Group(*parts)


def as_json(found: Findings, in_force: Sequence[PolicyInForce], grants: Sequence[GrantLine] = ()) -> str:
    """For programs."""
    content = {
        "asked": found.asked,
        "findings": [
            asdict(each.place)
            | {"policy": each.policy, "message": each.message, "mode": each.mode, "engines": each.engines}
            for each in found.findings
        ],
        "refusedOtherwise": [asdict(each.place) | {"reason": each.reason} for each in found.others],
        "policies": [asdict(line) for line in summary(found, in_force)],
        "grants": [asdict(each) | {"expires": each.expires and each.expires.isoformat()} for each in grants],
        "onlyByGrant": [asdict(each.place) | {"policy": each.policy} for each in found.granted],
    }
    return json.dumps(content, indent=2)


def _where(place: Place) -> tuple[str, str, str]:
    return place.tenant, place.namespace, f"{place.kind}/{place.name}"


def _sentence(found: Findings) -> str:
    objects = len({each.place for each in found.findings})
    if not objects:
        return f"None of {found.asked} objects would be refused."
    return (
        f"{objects} of {found.asked} objects would be refused if they were created now or their spec changed. "
        "Running objects are not affected."
    )
