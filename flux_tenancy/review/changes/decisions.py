"""Risks of what only the configuration shows: decisions about time, and about how strict the platform is itself."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import product
from typing import Any

from pydantic import TypeAdapter

from flux_tenancy.components.allowlists.source_patterns import canonical
from flux_tenancy.components.config.decisions import LastDay
from flux_tenancy.components.git.config import GitHubConfig
from flux_tenancy.components.stack.config import counts_as_production
from flux_tenancy.review.access.words import counted
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.words.statement import Statement

_ENCRYPTED = "<encrypted "
# Sections are as they are written, and a truth value or a date can be written in several ways.
_TRUTH = TypeAdapter[bool | None](bool | None)
_LAST_DAY = TypeAdapter[date](LastDay)

_Decided = tuple[str, str]
"""A part of a decision that cannot be divided, and for which object it holds; empty for all."""
_Ends = Mapping[_Decided, date]
"""The last day of each part."""


@dataclass(frozen=True)
class _Setting:
    """A setting that decides about the platform.

    Attributes:
        section, key: where it is.
        default: its value if it is not set.
        matters: which differences are a risk.
        sentence: `{}` stands for the value now.
    """

    section: str
    key: str
    default: Any
    matters: Callable[[Any, Any], bool]
    sentence: str


def _becomes_true(before: Any, after: Any) -> bool:
    return bool(_TRUTH.validate_python(after)) and not _TRUTH.validate_python(before)


def _is_elsewhere(before: Any, after: Any) -> bool:
    return None not in (before, after) and canonical(str(before)) != canonical(str(after))


_SETTINGS = (
    _Setting(
        "cluster",
        "adopt",
        None,
        _becomes_true,
        "takes over objects that already exist in the cluster (cluster.adopt)",
    ),
    _Setting(
        "github",
        "baseUrl",
        GitHubConfig.model_fields["base_url"].default,
        _is_elsewhere,
        "sends its credentials for GitHub to {} (github.baseUrl)",
    ),
    _Setting("flux", "webhookUrl", None, _is_elsewhere, "has webhooks sent to {} (flux.webhookUrl)"),
)


def decision_risks(stack: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Statement]:
    """What a change decides that no object shows.

    Args:
        stack: name of the stack.
        before: the sections of the stack at the merge base, by top-level key.
        after: the sections now.
    """
    sections = before, after
    was, is_now = (
        counts_as_production(stack, _TRUTH.validate_python(_at(each, "cluster").get("production"))) for each in sections
    )
    if was and not is_now:
        yield Statement(
            PLATFORM, "is no longer a production environment: its stricter rules and defaults end", risk=True
        )
    for row in _SETTINGS:
        old, new = (_at(each, row.section).get(row.key, row.default) for each in sections)
        if row.matters(old, new):
            yield Statement(PLATFORM, row.sentence.format(new), risk=True)
    yield from _shared_credentials(*(_at(each, "shared") for each in sections))
    waivers = (_ends(_at(each, "review").get("waivers"), _waived) for each in sections)
    yield from _extended(PLATFORM, "the waiver of", *waivers, is_new=True)
    tenants = [_at(each, "tenants") for each in sections]
    for name in sorted({*tenants[0], *tenants[1]}):
        grants = (_ends(_at(each, name).get("grants"), _granted) for each in tenants)
        yield from _extended(name, "a grant of", *grants, is_new=False)


def _shared_credentials(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Statement]:
    """Credentials of shared sources that go to further tenants."""
    for name in sorted(before.keys() & after.keys()):
        tenants = [_at(each, name).get("tenants") or () for each in (before, after)]
        if _ENCRYPTED in json.dumps(_at(after, name), default=str):
            for tenant in sorted(set(tenants[1]).difference(tenants[0])):
                yield Statement(tenant, f"gets the credentials of the shared source {name}", risk=True)


def _extended(owner: str, what: str, before: _Ends, after: _Ends, *, is_new: bool) -> Iterator[Statement]:
    """Decisions that hold longer than before, whichever entries they are written in.

    Args:
        owner: whom they are for.
        what: what is decided.
        before, after: the parts of the decisions.
        is_new: whether new ones are said, too; what new grants allow has sentences of its own.
    """
    found: dict[tuple[date | None, date], list[str]] = defaultdict(list)
    for (part, of), end in after.items():
        earlier = max((before[each] for each in ((part, of), (part, "")) if each in before), default=None)
        if is_new if earlier is None else end > earlier:
            found[earlier, end].append(f"{part} for {of}" if of else part)
    for (earlier, end), parts in found.items():
        named = f"has {what} {counted(parts, '')}"
        if earlier is None:
            yield Statement(owner, f"{named} {_until(end)}, which is new", risk=True)
        else:
            yield Statement(owner, f"{named} for longer: {_until(end)} (before: {_until(earlier)})", risk=True)


def _until(end: date) -> str:
    return "without an end" if end == date.max else f"until {end}"


def _ends(decisions: Any, parts: Callable[[Mapping[str, Any]], Iterator[_Decided]]) -> _Ends:
    found: dict[_Decided, date] = {}
    for each in decisions or ():
        end = date.max if each.get("expires") is None else _LAST_DAY.validate_python(each["expires"])
        found |= {part: max(end, found.get(part, end)) for part in parts(each)}
    return found


def _waived(waiver: Mapping[str, Any]) -> Iterator[_Decided]:
    yield waiver["rule"], waiver.get("resource") or ""


def _granted(grant: Mapping[str, Any]) -> Iterator[_Decided]:
    for rule in grant.get("rules") or ():
        for group, resource, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"]):
            yield f"{verb} {resource}.{group}", ""
    for each in grant.get("clusterObjects") or ():
        for verb in each["verbs"]:
            yield f"{verb} {each['resource']}.{each['apiGroup']} named {each['name']}", ""
    for each in grant.get("serviceTypes") or ():
        yield f"Services of type {each}", ""
    for each in grant.get("exceptions") or ():
        for name in each.get("names") or ("",):
            yield f"an exception from {each['policy']}", name


def _at(sections: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = sections.get(key)
    return found if isinstance(found, Mapping) else {}
