"""Who may do what by what a stack would apply."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.rbac.rights import CLUSTER
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind
from flux_tenancy.review.access.policies import policy_modes, policy_settings
from flux_tenancy.review.access.rights import join, rights_in_words, rights_statements
from flux_tenancy.review.access.rules import Access, gains, rbac_access
from flux_tenancy.review.render.facts import configuration
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.words import Statement, counted, table_of

_RIGHTS, _SETTINGS = ("who", "may", "where", "risk"), ("setting", "value", "namespaces")


@dataclass(frozen=True)
class WhoMayWhat:
    """Who may do what by a render.

    Attributes:
        rights: by roles and bindings: who, what they may do, where, and `high` or `normal`.
        roles: what the roles of the stack among them allow, by name.
        settings: what the policies leave to tenants: the key in `policies`, its value, and the namespaces.
        modes: the policies that do not refuse, with their mode.
    """

    rights: list[tuple[str, ...]]
    roles: dict[str, str]
    settings: list[tuple[str, ...]]
    modes: dict[str, str]


def who_may_what(render: Render, tenant: str = "") -> WhoMayWhat:
    """Who may do what.

    Args:
        tenant: only what this tenant may do, and what others may do in its namespaces; empty for everything.
    """
    access = rbac_access(render.objects)
    if tenant:
        subject, places = Subject(SubjectKind.TENANT, tenant), {*access.tenants.by_name.get(tenant, ()), CLUSTER}
        grants = {key: found for key, found in access.grants.items() if key[0] == subject or key[1] in places}
        access = replace(access, grants=grants)
    rights = join(rights_statements(Access(), access), access.tenants, set(access.tenants.by_name))
    roles = {name: found for gain in gains(Access(), access) for name, found in gain.roles.items()}
    found = policy_settings(configuration(render.facts or {}), render.objects)
    modes = policy_modes(render.objects)
    return WhoMayWhat(
        [(*_standing(each), "high" if each.risk else "normal") for each in rights],
        {name: rights_in_words(found) for name, found in sorted(roles.items())},
        list(_settings((place, own) for of, place, own in found if tenant in ("", of))),
        {str(name): str(mode) for name, mode in sorted(modes.items()) if mode is not PolicyMode.ENFORCE},
    )


def as_table(found: WhoMayWhat) -> RenderableType:
    """For a terminal."""
    parts: list[RenderableType] = [Text("By roles and bindings:"), table_of(_RIGHTS, found.rights)]
    for title, headings, rows in (
        ("Roles:", ("role", "allows"), list(found.roles.items())),
        ("What the policies leave to tenants:", _SETTINGS, found.settings),
        ("Policies that refuse nothing:", ("policy", "mode"), list(found.modes.items())),
    ):
        parts += [Text(title), table_of(headings, rows)] if rows else []
    return Group(*parts)


def as_json(found: WhoMayWhat) -> str:
    """For programs."""
    rows = {"rights": (_RIGHTS, found.rights), "settings": (_SETTINGS, found.settings)}
    named = {key: [dict(zip(keys, row, strict=True)) for row in each] for key, (keys, each) in rows.items()}
    return json.dumps({**named, "roles": found.roles, "modes": found.modes}, indent=2)


def _settings(found: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str, str]]:
    """The settings with a value, each once for all namespaces in which it has the same."""
    namespaces: dict[tuple[str, str], list[str]] = defaultdict(list)
    for place, settings in found:
        for key, value in settings.items():
            if value not in (None, False, [], {}):
                text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
                namespaces[key, text].append(place)
    for (key, text), places in sorted(namespaces.items()):
        yield key, text, counted(places, "namespaces")


def _standing(right: Statement) -> tuple[str, ...]:
    """The cells of what is so, in place of what is new."""
    who, words, where = right.access
    may = words.replace("may now ", "may ", 1)
    return who, re.sub("^gains? ", f"{'has' if may.startswith('gains ') else 'have'} ", may), where
