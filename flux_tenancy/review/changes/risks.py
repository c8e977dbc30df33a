"""How a change matters that changes no right by RBAC, by the rows of `risks.yaml`.

They compare objects, and the configuration of a stack as such: one document of the stack, and one of each tenant. It is
as it is written, with what follows from it beside: whether the stack is production, and until when each part of a
waiver or a grant holds, however the parts are divided into entries.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import product
from typing import Any

import yaml
from pydantic import TypeAdapter

from flux_tenancy.components.config.messages import without_passwords
from flux_tenancy.components.config.types import LastDay
from flux_tenancy.components.config.yaml_files import data_of
from flux_tenancy.components.engine import PROJECT_FILE
from flux_tenancy.components.git.config import GitHubConfig
from flux_tenancy.components.stack.config import counts_as_production
from flux_tenancy.components.stack.files.project import stack_file_name
from flux_tenancy.components.tenant.capsule.config import TENANT
from flux_tenancy.components.vocabulary.names import (
    BUCKET,
    GIT_REPOSITORY,
    HELM_RELEASE,
    HELM_REPOSITORY,
    KUSTOMIZATION,
    OCI_REPOSITORY,
)
from flux_tenancy.review.access.rules import tenants_of
from flux_tenancy.review.changes import comparisons, values
from flux_tenancy.review.changes.fields import label, shortened
from flux_tenancy.review.changes.objects import Action, ObjectChange
from flux_tenancy.review.render.facts import Facts, section_at
from flux_tenancy.review.render.rendered import PLATFORM, PROTECT, RenderedObject
from flux_tenancy.review.words import Statement, counted

_OTHERS = ("kinds", "immutable", "keys", "objects")
_VALUE = 160
"""Characters of a value in a sentence."""
_QUOTAS = "quotas of namespace"
"""The kind of what stands for all ResourceQuotas of a namespace."""
_SOME = re.compile(r"(?:(?P<path>.+)\.)?(?:\((?P<keys>.+)\)|\*)")
_PRUNED = ": Flux deletes the applied objects that are missing there"
_SYNCED = (KUSTOMIZATION, HELM_RELEASE, GIT_REPOSITORY, OCI_REPOSITORY, HELM_REPOSITORY, BUCKET)
_Key = tuple[str, str, str]
"""Kind, namespace and name: an API may have another version."""


@dataclass(frozen=True)
class Risk:
    """A row of the table; `risks.yaml` describes its keys.

    Attributes:
        matters: the way in which the change matters.
        kinds: the kinds of objects.
        when: which differences are said.
    """

    matters: str
    kinds: frozenset[str]
    read: values.Read
    when: comparisons.Compare
    says: str
    risk: bool = True
    new: bool | str = False
    gone: str = ""


@cache
def risks() -> tuple[Risk, ...]:
    """All rows, in the order of the table."""
    rows = {key: each for key, each in _table().items() if key not in _OTHERS}
    kinds = _table()["kinds"]
    return tuple(_row(matters, kinds, **row) for matters, each in rows.items() for row in each)


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = data_of(__file__, "risks.yaml")
    return table


def immutable(type_: str) -> Mapping[str, Any]:
    """What cannot change in objects of a type, by the keys of `immutable` in the table."""
    found: Mapping[str, Any] = _table()["immutable"].get(type_, {})
    return found


@cache
def _matters(of: str) -> Mapping[tuple[str, ...], str]:
    """The way in which something matters, by its path."""
    return {tuple(path.split(".")): matters for matters, paths in _table()[of].items() for path in paths}


def matters_of_key(path: Iterable[str | int]) -> str:
    """In which way a key of the configuration matters; empty for a key that is not this project's."""
    keys = [each for each in path if isinstance(each, str) and not each.startswith("[")]
    fitting = (
        (len(row), matters)
        for row, matters in _matters("keys").items()
        if len(row) <= len(keys) and all(one in ("*", key) for one, key in zip(row, keys, strict=False))
    )
    return max(fitting, default=(0, ""))[1]


def matters_of_kind(kind: str) -> str:
    """In which way a kind of object matters; empty for one that the platform does not make."""
    return _matters("objects").get((kind,), "")


def _row(matters: str, kinds: Mapping[str, list[str]], of: Any, field: str, when: str, **row: Any) -> Risk:
    found = kinds.get(of, [of]) if isinstance(of, str) else of
    return Risk(matters, frozenset(found), _read(field), _compare(when), **row)


def _read(field: str) -> values.Read:
    if found := _SOME.fullmatch(field):
        keys = found["keys"].split("|") if found["keys"] else ()
        return values.of(tuple(found["path"].split(".")) if found["path"] else (), *keys)
    own: values.Read | None = getattr(values, field, None)
    return own or values.at(*field.split("."))


def _compare(when: str) -> comparisons.Compare:
    name, *given = when.split()
    found = getattr(comparisons, name)
    compare: comparisons.Compare = found(*map(yaml.safe_load, given)) if given else found
    return compare


def risk_statements(before: Iterable[RenderedObject], after: Iterable[RenderedObject]) -> Iterator[Statement]:
    """What the changed objects weaken, the same of several objects and keys once.

    Args:
        before: all objects at the merge base, and the configuration as such.
        after: all objects now, and the configuration.
    """
    old, new = ({_key(each): each for each in _with_joint_quotas(objects)} for objects in (before, after))
    around = _Around.of(old, new)
    found: dict[tuple[str, Risk, str, str, str], tuple[list[str], list[str]]] = {}
    for key, each in (old | new).items():
        earlier, later = old.get(key), new.get(key)
        if earlier and later and earlier.digest == later.digest:
            continue
        for row in _rows().get(each.kind, ()):
            if not around.concerns(row, earlier, later):
                continue
            versions = [row.read(around.described(one)) if one else {} for one in (earlier, later)]
            for name in sorted({*versions[0], *versions[1]}):
                was, is_now = (version.get(name) for version in versions)
                if was != is_now and row.when(was, is_now):
                    was, is_now = _shown(was if "{before}" in row.says else None, is_now)
                    shown = was if "{before}" in row.says else "", is_now if "{after}" in row.says else ""
                    then = _PRUNED if "{then}" in row.says and around.pruned.get(key) else ""
                    keys, labels = found.setdefault((each.owner, row, *shown, then), ([], []))
                    keys.append(name)
                    labels.append(label(each))
    order = {row: place for place, row in enumerate(risks())}
    for (owner, row, was, is_now, then), (keys, labels) in sorted(found.items(), key=lambda each: order[each[0][1]]):
        words = {"keys": counted(dict.fromkeys(keys)), "labels": counted(dict.fromkeys(labels))}
        text = row.says.format(before=was, after=is_now, then=then, **words)
        yield Statement(owner, text, row.risk, matters=row.matters)


@cache
def _rows() -> Mapping[str, list[Risk]]:
    found: dict[str, list[Risk]] = defaultdict(list)
    for row in risks():
        for kind in row.kinds:
            found[kind].append(row)
    return found


@dataclass(frozen=True)
class _Around:
    """What an object does not say itself.

    Attributes:
        staying: the namespaces that there are.
        synced: the owners of syncs, releases and sources.
        pruned: each sync and each source that a sync applies, with whether Flux prunes.
        places: how many namespaces each owner has; a tenant of Capsule makes further ones.
        hosts: those to which Providers sent events before.
        accounts: those of tenants, by namespace and name.
    """

    staying: frozenset[str]
    synced: frozenset[str]
    pruned: Mapping[_Key, bool]
    places: Mapping[str, int]
    hosts: frozenset[str]
    accounts: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, old: Mapping[_Key, RenderedObject], new: Mapping[_Key, RenderedObject]) -> _Around:
        found = new.values()
        return cls(
            frozenset(each.name for each in found if each.kind == "Namespace"),
            frozenset(each.owner for each in found if each.kind in _SYNCED),
            _pruned(found),
            Counter(each.owner for each in found if each.kind in ("Namespace", TENANT)),
            frozenset(values.host_of(each.manifest) for each in old.values() if each.kind == "Provider"),
            frozenset(tenants_of(each.manifest for each in found).accounts),
        )

    def concerns(self, row: Risk, earlier: RenderedObject | None, later: RenderedObject | None) -> bool:
        """Whether a row is about an object that comes, changes or goes."""
        if earlier is None:
            return bool(row.new)
        if later is None:
            is_meant = row.gone == "namespace" or (row.gone == "syncs" and earlier.owner in self.synced)
            return is_meant and earlier.namespace in self.staying
        return row.new != "only"

    def described(self, each: RenderedObject) -> dict[str, Any]:
        """An object with what it does not say itself."""
        is_sole = each.owner != PLATFORM and self.places.get(each.owner) == 1
        around = {
            "synced": _key(each) in self.pruned,
            "home": each.namespace if is_sole else None,
            "hosts": self.hosts,
            "accounts": self.accounts,
        }
        return {**each.manifest, PROTECT: each.protected, values.AROUND: around}


def _key(each: RenderedObject) -> _Key:
    return each.kind, each.namespace, each.name


def _pruned(objects: Iterable[RenderedObject]) -> dict[_Key, bool]:
    found: dict[_Key, bool] = {}
    for each in objects:
        if each.kind == KUSTOMIZATION:
            spec = each.manifest["spec"]
            source = spec.get("sourceRef", {})
            applied = (source.get("kind", ""), source.get("namespace", each.namespace), source.get("name", ""))
            for key in (_key(each), applied):
                found[key] = found.get(key, False) or spec.get("prune", False)
    return found


def _with_joint_quotas(objects: Iterable[RenderedObject]) -> Iterator[RenderedObject]:
    """All objects but quotas, and one for the quotas of each namespace: a limit may move from one to another."""
    owners: dict[str, str] = {}
    hard: dict[str, dict[str, Any]] = defaultdict(dict)
    for each in objects:
        if each.kind == "Namespace":
            owners.setdefault(each.name, each.owner)
        if each.kind != "ResourceQuota":
            yield each
            continue
        owners[each.namespace] = each.owner
        joint = hard[each.namespace]
        for key, value in each.manifest["spec"].get("hard", {}).items():
            kind = key.removeprefix("count/")
            joint[kind] = min(joint.get(kind, value), value, key=comparisons.quantity)
    for namespace, owner in owners.items():
        manifest = {"kind": _QUOTAS, "metadata": {"name": namespace}, "hard": hard[namespace]}
        yield RenderedObject(owner, _QUOTAS, namespace, manifest)


def _shown(before: Any, after: Any) -> tuple[str, str]:
    """Two values as a sentence shows them; long ones around what differs."""
    was, is_now = (
        each if len(each) <= _VALUE else f"{each[:_VALUE]}…" for each in shortened(_text(before), _text(after), _VALUE)
    )
    return was, is_now


def _text(value: Any) -> str:
    # Before a password loses the @ at its end.
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return "none" if value is None else without_passwords(text)


_IDENTITY = ("metadata.name", "metadata.namespace")


def immutable_fields(change: ObjectChange) -> tuple[str, ...]:
    """The changed fields because of which an object is replaced; empty if it is not."""
    if change.action is not Action.CHANGED:
        return ()
    fields = (*_IDENTITY, *immutable(change.object.type).get("fields", ()))
    changed = [field.name for field in change.fields]
    return tuple(
        key for key in fields if any(name == key or name.startswith((f"{key}.", f"{key}[")) for name in changed)
    )


def replacement_risks(changes: Iterable[ObjectChange]) -> Iterator[Statement]:
    """A risk for each kind of object whose replacement loses something."""
    found = Counter[tuple[str, str, str, tuple[str, ...]]]()
    for change in changes:
        loses = immutable(change.object.type).get("loses")
        if loses and (fields := immutable_fields(change)):
            found[change.object.owner, change.object.kind, loses, fields] += 1
    for (owner, kind, loses, fields), count in found.items():
        what = f"a {kind}" if count == 1 else f"{count} objects of kind {kind}"
        text = f"replaces {what}, because {' and '.join(fields)} cannot change: {loses}"
        yield Statement(owner, text, risk=True, matters="protection")


_ENCRYPTED = "<encrypted "
# It can be written in several ways.
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
    waivers = _as_named(*(_ends(section_at(each, "review").get("waivers"), _waived) for each in sections))
    further = [_further(stack, facts) if old and new else {} for facts in (old, new)]
    found = [
        [_document("Configuration", PLATFORM, _of_stack(stack, each) | {"waivers": ends} | other)]
        for each, ends, other in zip(sections, waivers, further, strict=True)
    ]
    tenants = [section_at(each, "tenants") for each in sections]
    for name in sorted(tenants[0].keys() & tenants[1].keys()):
        grants = _as_named(*(_ends(section_at(each, name).get("grants"), _granted) for each in tenants))
        for documents, each, ends in zip(found, sections, grants, strict=True):
            own = {"grants": ends, "sharedCredentials": _shared_credentials(section_at(each, "shared"), name)}
            documents.append(_document("TenantConfiguration", name, own))
    return found[0], found[1]


def is_production_environment(stack: str, sections: _Sections) -> bool:
    """Whether the stricter rules of production are for a stack."""
    return counts_as_production(
        stack, comparisons.TRUTH.validate_python(section_at(sections, "cluster").get("production"))
    )


def _document(kind: str, owner: str, content: Mapping[str, Any]) -> RenderedObject:
    manifest = {"kind": kind, "metadata": {"name": owner}, **content}
    return RenderedObject(owner, kind, owner, manifest)


def _of_stack(stack: str, sections: _Sections) -> dict[str, Any]:
    github = {"baseUrl": GitHubConfig.model_fields["base_url"].default, **section_at(sections, "github")}
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
        for each in [section_at(shared, name)]
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
