"""The configuration of a stack as what `risks.yaml` compares: one document of the stack, and one of each tenant.

It is as it is written, with what follows from it beside: whether the stack is production, and until when each part of a
waiver or a grant holds, however the parts are divided into entries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from itertools import product
from typing import Any

from pydantic import TypeAdapter

from flux_tenancy.components.config.decisions import LastDay
from flux_tenancy.components.engine import PROJECT_FILE
from flux_tenancy.components.git.config import GitHubConfig
from flux_tenancy.components.stack.config import counts_as_production
from flux_tenancy.components.stack.files.project import stack_file_name
from flux_tenancy.review.render.facts import Facts
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject

_ENCRYPTED = "<encrypted "
# A truth value or a date can be written in several ways.
_TRUTH = TypeAdapter[bool | None](bool | None)
_LAST_DAY = TypeAdapter[date](LastDay)

_Sections = Mapping[str, Any]
_Decided = tuple[str, str]
"""A part of a decision that cannot be divided, and for which object it holds; empty for all."""
_Ends = Mapping[_Decided, date]
"""The last day of each part."""


def configuration_documents(
    stack: str, before: _Sections, after: _Sections, old: Facts | None, new: Facts | None
) -> tuple[list[RenderedObject], list[RenderedObject]]:
    """The documents at the merge base and now.

    Args:
        before, after: the sections of the stack, by top-level key.
        old, new: the facts of both renders; None if their program does not record them.
    """
    sections = before, after
    waivers = _as_named(*(_ends(_at(each, "review").get("waivers"), _waived) for each in sections))
    further = [_further(stack, facts) if old and new else {} for facts in (old, new)]
    found = [
        [_document("Configuration", PLATFORM, _of_stack(stack, each) | {"waivers": ends} | other)]
        for each, ends, other in zip(sections, waivers, further, strict=True)
    ]
    tenants = [_at(each, "tenants") for each in sections]
    for name in sorted(tenants[0].keys() & tenants[1].keys()):
        grants = _as_named(*(_ends(_at(each, name).get("grants"), _granted) for each in tenants))
        for documents, each, ends in zip(found, sections, grants, strict=True):
            own = {"grants": ends, "sharedCredentials": _shared_credentials(_at(each, "shared"), name)}
            documents.append(_document("TenantConfiguration", name, own))
    return found[0], found[1]


def is_production_environment(stack: str, sections: _Sections) -> bool:
    """Whether the stricter rules of production are for a stack."""
    return counts_as_production(stack, _TRUTH.validate_python(_at(sections, "cluster").get("production")))


def _document(kind: str, owner: str, content: Mapping[str, Any]) -> RenderedObject:
    manifest = {"kind": kind, "metadata": {"name": owner}, **content}
    return RenderedObject(owner, kind, owner, manifest)


def _of_stack(stack: str, sections: _Sections) -> dict[str, Any]:
    github = {"baseUrl": GitHubConfig.model_fields["base_url"].default, **_at(sections, "github")}
    return {**sections, "github": github, "production": is_production_environment(stack, sections)}


def _further(stack: str, facts: Facts | None) -> dict[str, Any]:
    """Pulumi's own keys."""
    found = facts or {}
    return {"project": found.get(PROJECT_FILE, {}), "stack": found.get(stack_file_name(stack), {})}


def _shared_credentials(shared: Mapping[str, Any], tenant: str) -> dict[str, bool]:
    """The shared sources with credentials that a tenant has."""
    return {
        name: True
        for name in shared
        for each in [_at(shared, name)]
        if tenant in (each.get("tenants") or ()) and _ENCRYPTED in json.dumps(each, default=str)
    }


def _as_named(before: _Ends, after: _Ends) -> tuple[dict[str, str], dict[str, str]]:
    """The ends by the words for their parts, in the order of time; what holds for all objects holds for each before."""
    earlier = {**{part: before[part[0], ""] for part in after if (part[0], "") in before}, **before}
    for part in after.keys() & before.keys():
        earlier[part] = max(earlier[part], before.get((part[0], ""), date.min))
    named = [
        {f"{part} for {of}" if of else part: _until(end) for (part, of), end in each.items()}
        for each in (earlier, after)
    ]
    return named[0], named[1]


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
