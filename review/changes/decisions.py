"""Risks of what only the configuration shows: decisions about time, and about how strict the platform is itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from flux_tenancy.components.stack.config import counts_as_production
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.words.statement import Statement

_TENANTS = "tenants"
_TIME = ("reason", "expires")


def decision_risks(stack: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Statement]:
    """What a change decides that no object shows.

    Args:
        stack: name of the stack.
        before: the sections of the stack at the merge base, by top-level key.
        after: the sections now.
    """
    clusters = [_mapping(each.get("cluster")) for each in (before, after)]
    was, is_now = (counts_as_production(stack, each.get("production")) for each in clusters)
    if was and not is_now:
        yield Statement(
            PLATFORM, "is no longer a production environment: its stricter rules and defaults end", risk=True
        )
    if clusters[1].get("adopt") is True and clusters[0].get("adopt") is not True:
        yield Statement(PLATFORM, "takes over objects that already exist in the cluster (cluster.adopt)", risk=True)
    urls = [_mapping(each.get("github")).get("baseUrl") for each in (before, after)]
    if urls[1] and urls[0] != urls[1]:
        yield Statement(PLATFORM, f"sends its credentials for GitHub to {urls[1]} (github.baseUrl)", risk=True)
    yield from _extended(PLATFORM, "the waiver of {}", *(_waivers(each) for each in (before, after)), is_new=True)
    tenants = [_mapping(each.get(_TENANTS)) for each in (before, after)]
    for name in sorted({*tenants[0], *tenants[1]}):
        grants = (_by_content(_mapping(each.get(name)).get("grants")) for each in tenants)
        yield from _extended(name, "a grant", *grants, is_new=False)


def _extended(
    owner: str, what: str, before: Mapping[str, str], after: Mapping[str, str], *, is_new: bool
) -> Iterator[Statement]:
    """Decisions that hold longer than before.

    Args:
        owner: whom they are for.
        what: what is decided; `{}` stands for its key.
        before, after: the last day of each by its key, which is empty without one.
        is_new: whether new ones are said, too; what new grants allow has sentences of its own.
    """
    for key, until in after.items():
        named, end = what.format(key), f"until {until}" if until else "without an end"
        if key not in before:
            if is_new:
                yield Statement(owner, f"has {named} {end}, which is new", risk=True)
        elif before[key] and (not until or until > before[key]):
            yield Statement(owner, f"has {named} for longer: {end} (before: until {before[key]})", risk=True)


def _waivers(sections: Mapping[str, Any]) -> dict[str, str]:
    found = _mapping(sections.get("review")).get("waivers")
    named = [each for each in found or () if isinstance(each, Mapping)]
    return {" for ".join(filter(None, (str(each.get("rule")), each.get("resource")))): _day(each) for each in named}


def _by_content(grants: Any) -> dict[str, str]:
    """The last day of each grant by what it allows."""
    return {
        json.dumps({key: value for key, value in each.items() if key not in _TIME}, sort_keys=True, default=str): _day(
            each
        )
        for each in grants or ()
        if isinstance(each, Mapping)
    }


def _day(decision: Mapping[str, Any]) -> str:
    """ISO 8601, so that later days are greater; YAML may have read it as a date."""
    expires = decision.get("expires")
    return "" if expires is None else str(expires)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
