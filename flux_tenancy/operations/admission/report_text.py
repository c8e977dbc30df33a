"""The report of the policies, for people and for programs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.tenant.further_access import FurtherBinding
from flux_tenancy.components.tenant.grants import Grant, has_expired, in_words
from flux_tenancy.operations.admission.findings import Finding, Findings, Place
from flux_tenancy.operations.admission.policies import PolicyInForce
from flux_tenancy.review.words.tables import empty_table


@dataclass(frozen=True)
class FurtherAccess:
    """What tenants' accounts may do in addition to their role.

    Attributes:
        bindings: the bindings that grant it, by tenant.
        unknown: why it cannot be read; empty if it can.
    """

    bindings: Mapping[str, Sequence[FurtherBinding]] = field(default_factory=dict)
    unknown: str = ""


@dataclass(frozen=True)
class GrantLine:
    """Something that a grant allows.

    Attributes:
        tenant: name of the tenant.
        allows: what it allows.
        reason: why.
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
    """What the grants of tenants allow, a line for each part.

    Args:
        grants: the grants by tenant.
        today: the current date in UTC.
    """
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


def as_table(
    found: Findings, in_force: Sequence[PolicyInForce], further: FurtherAccess, grants: Sequence[GrantLine] = ()
) -> RenderableType:
    """For a terminal."""
    parts: list[RenderableType] = []
    if grants:
        parts.append(Text("What tenants are granted:"))
        granted = [(each.tenant, each.allows, each.reason, each.until) for each in grants]
        parts.append(_table(("tenant", "grant", "reason", "expires"), granted))
    if found.granted:
        parts.append(Text("What would be refused without a grant:"))
        rows = [(*_where(each.place), each.policy) for each in found.granted]
        parts.append(_table(("tenant", "namespace", "object", "policy"), rows))
    if further.bindings:
        parts.append(Text("What tenants' accounts may do in addition to the platform's role:"))
        bindings = [(tenant, each.summary) for tenant, given in further.bindings.items() for each in given]
        parts.append(_table(("tenant", "binding"), bindings))
    if further.unknown:
        parts.append(Text(f"Cannot read what tenants' accounts may do in addition to their role: {further.unknown}"))
    if found.findings:
        parts.append(_table(("tenant", "namespace", "object", "policy", "engine", "message"), _rows(found.findings)))
    if found.others:
        parts.append(Text("Refused by something other than the policies:"))
        others = [(*_where(each.place), each.reason) for each in found.others]
        parts.append(_table(("tenant", "namespace", "object", "reason"), others))
    lines = [(line.policy, line.mode, ", ".join(line.engines), str(line.objects)) for line in summary(found, in_force)]
    parts.append(_table(("policy", "mode", "engine", "objects"), lines))
    parts.append(Text(_sentence(found)))
    return Group(*parts)


def as_json(
    found: Findings, in_force: Sequence[PolicyInForce], further: FurtherAccess, grants: Sequence[GrantLine] = ()
) -> str:
    """For programs."""
    content: dict[str, Any] = {
        "asked": found.asked,
        "findings": [
            _place(each.place)
            | {"policy": each.policy, "message": each.message, "mode": each.mode, "engines": each.engines}
            for each in found.findings
        ],
        "refusedOtherwise": [_place(each.place) | {"reason": each.reason} for each in found.others],
        "policies": [
            {"policy": line.policy, "mode": line.mode, "engines": line.engines, "objects": line.objects}
            for line in summary(found, in_force)
        ],
    }
    bindings = [
        {"tenant": tenant, **asdict(each)} for tenant, bindings in further.bindings.items() for each in bindings
    ]
    content["grants"] = [asdict(each) | {"expires": each.expires and each.expires.isoformat()} for each in grants]
    content["onlyByGrant"] = [_place(each.place) | {"policy": each.policy} for each in found.granted]
    content["furtherAccess"] = {"bindings": bindings, "unknown": further.unknown}
    return json.dumps(content, indent=2)


def _rows(findings: Sequence[Finding]) -> list[tuple[str, ...]]:
    return [(*_where(each.place), each.policy, ", ".join(each.engines), each.message) for each in findings]


def _where(place: Place) -> tuple[str, str, str]:
    return place.tenant, place.namespace, f"{place.kind}/{place.name}"


def _place(place: Place) -> dict[str, str]:
    return {"tenant": place.tenant, "namespace": place.namespace, "kind": place.kind, "name": place.name}


def _sentence(found: Findings) -> str:
    objects = len({each.place for each in found.findings})
    if not objects:
        return f"None of {found.asked} objects would be refused."
    return (
        f"{objects} of {found.asked} objects would be refused if they were created now or their spec changed. "
        "Running objects are not affected."
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = empty_table(headings, right=("objects",))
    for row in rows:
        # As text, so that square brackets are not markup.
        table.add_row(*map(Text, row))
    return table
