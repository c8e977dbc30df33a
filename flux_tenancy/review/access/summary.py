"""Who may do what by what a stack would apply, as tables for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.rbac.rights import CLUSTER
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind
from flux_tenancy.review.access.policies import allowance_statements, read_admission
from flux_tenancy.review.access.rights import rights_statements
from flux_tenancy.review.access.rules import Access, gains, rbac_access
from flux_tenancy.review.access.sentences import Joined, RiskLevel, join
from flux_tenancy.review.access.words import permissions
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.words.tables import empty_table


@dataclass(frozen=True)
class AccessRow:
    """What some may do.

    Attributes:
        who: the subjects.
        may: what they may do, with its verb: `may read Secrets`, `has the role view`.
        where: the place; empty if it is everywhere.
        risk: how closely an admin should look.
    """

    who: str
    may: str
    where: str
    risk: RiskLevel


@dataclass(frozen=True)
class WhoMayWhat:
    """Who may do what by a render.

    Attributes:
        rights: by roles and bindings.
        roles: what the roles of the stack among them allow, by name.
        allowances: what the policies leave to tenants.
        modes: the policies that do not refuse, with their mode.
    """

    rights: tuple[AccessRow, ...]
    roles: dict[str, str]
    allowances: tuple[AccessRow, ...]
    modes: dict[str, str]


def who_may_what(render: Render, tenant: str = "") -> WhoMayWhat:
    """Who may do what.

    Args:
        render: what a stack would apply.
        tenant: only what this tenant may do, and what others may do in its namespaces; empty for everything.
    """
    access = rbac_access(render.objects)
    admission = read_admission(render)
    if tenant:
        own = access.tenants.by_name.get(tenant, frozenset())
        places = {*own, CLUSTER}
        access = _of_tenant(access, tenant, places)
        admission = replace(
            admission, namespaces={name: found for name, found in admission.namespaces.items() if name in own}
        )
    everyone = set(access.tenants.by_name)
    rights = join(rights_statements(Access(), access), access.tenants, everyone)
    roles = {name: found for gain in gains(Access(), access) for name, found in gain.roles.items()}
    return WhoMayWhat(
        tuple(map(_row, rights)),
        {name: permissions(found) for name, found in sorted(roles.items())},
        tuple(map(_row, join(allowance_statements(admission), access.tenants, everyone))),
        {
            name.value: admission.mode_of(name).value
            for name in sorted(admission.policies)
            if admission.mode_of(name) is not PolicyMode.ENFORCE
        },
    )


def as_table(found: WhoMayWhat) -> RenderableType:
    """For a terminal."""
    rights = [(each.who, each.may, each.where, each.risk) for each in found.rights]
    parts: list[RenderableType] = [
        Text("By roles and bindings:"),
        _table(("who", "may", "where", "risk"), rights),
    ]
    if found.roles:
        parts += [Text("Roles:"), _table(("role", "allows"), found.roles.items())]
    if found.allowances:
        allowances = [(each.who, each.may, each.where) for each in found.allowances]
        parts += [Text("What the policies leave to tenants:"), _table(("who", "may", "where"), allowances)]
    if found.modes:
        parts += [Text("Policies that refuse nothing:"), _table(("policy", "mode"), found.modes.items())]
    return Group(*parts)


def as_json(found: WhoMayWhat) -> str:
    """For programs."""
    return json.dumps(asdict(found), indent=2)


def _of_tenant(access: Access, tenant: str, places: Collection[str]) -> Access:
    subject = Subject(SubjectKind.TENANT, tenant)
    grants = {key: granted for key, granted in access.grants.items() if key[0] == subject or key[1] in places}
    return replace(access, grants=grants)


def _row(joined: Joined) -> AccessRow:
    may = joined.words.removeprefix("now ").replace("may now ", "may ", 1)
    return AccessRow(joined.who, may, joined.where, RiskLevel.HIGH if joined.high else RiskLevel.NORMAL)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = empty_table(headings)
    for row in rows:
        # As text, so that square brackets are not markup.
        table.add_row(*map(Text, row))
    return table
