"""Who may do what by what a stack would apply, and what of it a change gives and takes."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from rich.console import Group, RenderableType
from rich.text import Text

from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.rbac.rights import CLUSTER
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind
from flux_tenancy.review.access.boundaries import boundary_statements
from flux_tenancy.review.access.openings import opening_statements
from flux_tenancy.review.access.policies import allowance_statements, policy_statements, read_admission
from flux_tenancy.review.access.rights import rights_in_words, rights_statements
from flux_tenancy.review.access.rules import Access, gains, rbac_access
from flux_tenancy.review.access.sentences import AccessRow, join
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.words import table_of


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
        tuple(map(_standing, rights)),
        {name: rights_in_words(found) for name, found in sorted(roles.items())},
        tuple(map(_standing, join(allowance_statements(admission), access.tenants, everyone))),
        {
            name.value: admission.mode_of(name).value
            for name in sorted(admission.policies)
            if admission.mode_of(name) is not PolicyMode.ENFORCE
        },
    )


def as_table(found: WhoMayWhat) -> RenderableType:
    """For a terminal."""
    rights = [(*each.cells, each.risk) for each in found.rights]
    parts: list[RenderableType] = [
        Text("By roles and bindings:"),
        table_of(("who", "may", "where", "risk"), rights),
    ]
    if found.roles:
        parts += [Text("Roles:"), table_of(("role", "allows"), found.roles.items())]
    if found.allowances:
        allowances = [each.cells for each in found.allowances]
        parts += [Text("What the policies leave to tenants:"), table_of(("who", "may", "where"), allowances)]
    if found.modes:
        parts += [Text("Policies that refuse nothing:"), table_of(("policy", "mode"), found.modes.items())]
    return Group(*parts)


def as_json(found: WhoMayWhat) -> str:
    """For programs."""
    rows = {"rights": found.rights, "allowances": found.allowances}
    named = {
        key: [dict(zip(("who", "may", "where", "risk"), (*row.cells, row.risk), strict=True)) for row in each]
        for key, each in rows.items()
    }
    return json.dumps({**named, "roles": found.roles, "modes": found.modes}, indent=2)


def _of_tenant(access: Access, tenant: str, places: Collection[str]) -> Access:
    subject = Subject(SubjectKind.TENANT, tenant)
    grants = {key: granted for key, granted in access.grants.items() if key[0] == subject or key[1] in places}
    return replace(access, grants=grants)


def _standing(row: AccessRow) -> AccessRow:
    """What is so, in place of what is new."""
    may = row.may.replace("may now ", "may ", 1)
    has = "has" if may.startswith("gains ") else "have"
    return replace(row, may=re.sub("^gains? ", f"{has} ", may))


def access_changes(before: Render | None, after: Render | None) -> tuple[AccessRow, ...]:
    """What a stack's subjects may do after a change that they may not do before it, and the reverse, widest first.

    Rights come from roles and bindings; what narrows them from the policies, the namespaces and Flux's flags. Only
    objects of the render count: what others have bound in the cluster is not in it.

    Args:
        before: what the stack applies now; None for a new stack.
        after: what it would apply; None for a stack that is removed.
    """
    old, new = (rbac_access(each.objects if each else ()) for each in (before, after))
    old_objects, new_objects = (
        [o for o in each.objects if o.is_kubernetes] if each else [] for each in (before, after)
    )
    statements = [
        *rights_statements(old, new),
        *policy_statements(before, after),
        *boundary_statements(old_objects, new_objects, old, new),
        *opening_statements(old_objects, new_objects),
    ]
    staying = set(old.tenants.by_name) & set(new.tenants.by_name) or set(old.tenants.by_name)
    return (
        *join((each for each in statements if each.widened), new.tenants, set(new.tenants.by_name)),
        *join((each for each in statements if not each.widened), old.tenants, staying),
    )
