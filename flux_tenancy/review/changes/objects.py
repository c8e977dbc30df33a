"""What differs between two renders of a stack: objects with their fields, facts that are neither object nor key; and
what goes with a deletion.

These facts are the program and its packages, workflows, and a kubeconfig in Git.

Lists whose items have names are compared by name, as server-side apply merges them; every other list keeps its order.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, Final

from flux_tenancy.components.config.errors import dotted
from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE
from flux_tenancy.components.installs.product import RELEASE_TYPE
from flux_tenancy.components.tenant.capsule.config import TENANT
from flux_tenancy.components.tenant.leaving.remaining_objects import prunes
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.review.access.rules import made_by
from flux_tenancy.review.render.facts import KUBECONFIG, PACKAGES, PROGRAM, WORKFLOWS
from flux_tenancy.review.render.rendered import PLATFORM, PROTECT, Render, RenderedObject
from flux_tenancy.review.words import Statement, listed

_NAME = "name"
# SequenceMatcher takes quadratic time; longer lists are compared item by item.
_ALIGNED_ITEMS = 200


class Action(StrEnum):
    """What happens to an object."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class _Absent:
    """The type of ABSENT."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""The value of a field that one of two objects does not have."""


@dataclass(frozen=True)
class FieldChange:
    """One field that differs.

    Attributes:
        path: the keys that lead to it; a number is the index of a list's item, a text in brackets the name of one.
        before: its value, or ABSENT.
        after: its value, or ABSENT.
    """

    path: tuple[str | int, ...]
    before: Any
    after: Any

    @property
    def name(self) -> str:
        """The path as one text, e.g. `spec.template.spec.containers[manager].args[3]`."""
        return dotted(self.path)


@dataclass(frozen=True)
class ObjectChange:
    """One object that differs between two renders.

    Attributes:
        object: the object as it will be; a removed one as it was.
        fields: what changed in it; empty unless it is changed.
    """

    action: Action
    object: RenderedObject
    fields: tuple[FieldChange, ...] = ()


def changes(before: Render | None, after: Render | None) -> tuple[ObjectChange, ...]:
    """The objects that differ, in the order of their paths.

    Args:
        before: what the stack applies now; None for a new stack.
        after: what it would apply; None for a stack that is gone.
    """
    old = {each.key: each for each in before.objects} if before else {}
    new = {each.key: each for each in after.objects} if after else {}
    found = [ObjectChange(Action.REMOVED, each) for key, each in old.items() if key not in new]
    for key, each in new.items():
        if key not in old:
            found.append(ObjectChange(Action.ADDED, each))
        elif old[key].digest != each.digest:
            found.append(ObjectChange(Action.CHANGED, each, tuple(_field_changes(old[key], each))))
    return tuple(sorted(found, key=lambda change: (change.object.path, change.object.key)))


def _field_changes(before: RenderedObject, after: RenderedObject) -> Iterator[FieldChange]:
    yield from field_changes(before.manifest, after.manifest)
    if before.protected != after.protected:
        yield FieldChange((PROTECT,), before.protected, after.protected)


def field_changes(before: Manifest | list[Any], after: Manifest | list[Any]) -> Iterator[FieldChange]:
    """The fields that differ between two manifests, or other plain data, in the order of their keys."""
    return _compared((), before, after)


def _compared(path: tuple[str | int, ...], before: Any, after: Any) -> Iterator[FieldChange]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from _compared((*path, str(key)), before.get(key, ABSENT), after.get(key, ABSENT))
    elif isinstance(before, list) and isinstance(after, list):
        named = _by_name(before), _by_name(after)
        yield from _named_items(path, *named) if all(named) else _ordered_items(path, before, after)
    elif type(before) is not type(after) or before != after:
        yield FieldChange(path, before, after)


def _by_name(items: list[Any]) -> dict[str, Any]:
    """The items by their names; empty if one has none, or if two have the same."""
    named = {each[_NAME]: each for each in items if isinstance(each, Mapping) and isinstance(each.get(_NAME), str)}
    return named if len(named) == len(items) else {}


def _named_items(
    path: tuple[str | int, ...], before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[FieldChange]:
    for name in [*before, *(name for name in after if name not in before)]:
        yield from _compared((*path, f"[{name}]"), before.get(name, ABSENT), after.get(name, ABSENT))
    old, new = [name for name in before if name in after], [name for name in after if name in before]
    if old != new:
        yield FieldChange((*path, "[order]"), old, new)


def _ordered_items(path: tuple[str | int, ...], before: list[Any], after: list[Any]) -> Iterator[FieldChange]:
    """Insertions and deletions as such; items that were replaced one by one are compared with each other."""
    for old, new in _aligned(before, after):
        if len(old) == len(new):
            for index, (one, other) in zip(new, zip(old, new, strict=True), strict=True):
                yield from _compared((*path, index), before[one], after[other])
            continue
        for index in old:
            yield FieldChange((*path, index), before[index], ABSENT)
        for index in new:
            yield FieldChange((*path, index), ABSENT, after[index])


def _aligned(before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[range, range]]:
    """The parts of two lists that differ, each as the indexes in both."""
    if len(before) + len(after) > _ALIGNED_ITEMS:
        common = min(len(before), len(after))
        yield range(common), range(common)
        yield range(common, len(before)), range(common, len(after))
        return
    old, new = ([json.dumps(item, sort_keys=True) for item in items] for items in (before, after))
    for tag, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield range(first, last), range(start, end)


def fact_changes(before: Render, after: Render) -> tuple[FieldChange, ...]:
    """The facts that differ; none if one of the programs did not record them.

    Facts that repeat keys are left out (`review.changes.keys`).
    """
    if before.facts is None or after.facts is None:
        return ()
    both = [
        {name: found[name] for name in (PROGRAM, PACKAGES, KUBECONFIG, WORKFLOWS) if name in found}
        for found in (before.facts, after.facts)
    ]
    return tuple(field_changes(*both))


def is_of_project(change: FieldChange) -> bool:
    """Whether a fact is the same for all stacks of the project, unlike the kubeconfig that one of them names."""
    return change.path[0] != KUBECONFIG


def fact_statements(changes: Iterable[FieldChange]) -> Iterator[Statement]:
    """What differs, one sentence about the program, and one about the kubeconfig, which may name another cluster."""
    by_fact: dict[str, list[FieldChange]] = {}
    for each in changes:
        by_fact.setdefault(str(each.path[0]), []).append(each)
    program = [*(str(each.path[-1]) for each in by_fact.get(PROGRAM, ())), *map(_package, by_fact.get(PACKAGES, ()))]
    if program:
        yield Statement(PLATFORM, f"the program differs: {listed(program)}", names_owner=True)
    if WORKFLOWS in by_fact:
        names = listed([str(path) for each in by_fact[WORKFLOWS] for path in _paths(each)])
        yield Statement(
            PLATFORM, f"who approves changes, or how they are applied, may differ: {names}", risk=True, names_owner=True
        )
    if KUBECONFIG in by_fact:
        text = "the kubeconfig in the repository has other content, so the cluster or the access to it may be another"
        yield Statement(PLATFORM, text, risk=True, names_owner=True)


def _paths(change: FieldChange) -> Iterator[str]:
    """The files of a change; the first or last one changes them all."""
    if len(change.path) > 1:
        yield str(change.path[-1])
        return
    for each in (change.before, change.after):
        yield from each if isinstance(each, Mapping) else ()


def _package(change: FieldChange) -> str:
    old, new = ("none" if each is ABSENT else str(each).lstrip("=") for each in (change.before, change.after))
    return f"{change.path[-1]} {old} -> {new}"


ACKNOWLEDGED_FROM = 10
"""From this number of objects on, a deletion needs an acknowledgement."""
_DIGEST_LENGTH = 16


@dataclass(frozen=True)
class OwnerDeletion:
    """Everything that a change deletes of one owner in one stack.

    Attributes:
        owner: the tenant, or PLATFORM.
        objects: what is deleted.
        acknowledged: whether `review.acknowledge` lists it.
    """

    stack: str
    owner: str
    objects: tuple[RenderedObject, ...]
    acknowledged: bool = False

    @property
    def token(self) -> str:
        """The entry of `review.acknowledge` that fits this set of objects in this stack, and nothing else."""
        content = json.dumps([self.stack, self.owner, sorted(each.key for each in self.objects)])
        return f"{self.owner}:{hashlib.sha256(content.encode()).hexdigest()[:_DIGEST_LENGTH]}"

    @property
    def needs_acknowledgement(self) -> bool:
        """Whether it deletes what does not come back: much, or something that takes others' objects with it."""
        return len(self.objects) >= ACKNOWLEDGED_FROM or any(map(_takes_others_along, self.objects))

    @property
    def is_missing_acknowledgement(self) -> bool:
        return self.needs_acknowledgement and not self.acknowledged

    def consequences(self) -> Iterator[str]:
        """What goes with the objects, one sentence each, without a period."""
        return (text for text, _ in self.effects())

    def effects(self) -> Iterator[tuple[str, bool]]:
        """The consequences, each with whether objects are deleted that the change does not list."""
        namespaces = self._names("Namespace")
        if namespaces:
            whose = (
                ""
                if self.owner == PLATFORM
                else f", including the objects that Flux applied from the Git of {self.owner}"
            )
            yield f"everything in {_listed('namespace', namespaces)} is deleted{whose}", True
        if definitions := self._names("CustomResourceDefinition"):
            yield f"every object of {_listed('definition', definitions)} is deleted in the whole cluster", True
        for sync in self._of_kind("Kustomization"):
            if sync.namespace not in namespaces:
                stays = not prunes(sync.manifest)
                what = "Flux keeps the objects" if stays else "Flux deletes the objects"
                yield f"{what} that it applied from the Git of {sync.namespace}/{sync.name}", not stays
        for tenant in self._names(TENANT):
            yield f"Capsule deletes the {made_by(tenant)}, with everything in them", True
        for release in self._of_kind("HelmRelease"):
            if release.namespace not in namespaces:
                # Source: https://fluxcd.io/flux/components/helm/helmreleases/#suspend
                stays = bool(release.manifest["spec"].get("suspend"))
                what = "Flux keeps the suspended" if stays else "Flux uninstalls the"
                yield f"{what} Helm release {release.namespace}/{release.name}", not stays
        for release in (each for each in self.objects if each.type == RELEASE_TYPE):
            yield f"every object of the Helm release {release.name} is deleted, including custom resources", True
        if keys := self._repositories(DEPLOY_KEY_TYPE):
            yield f"its deploy key is removed from {', '.join(keys)} at GitHub", False
        if webhooks := self._repositories(WEBHOOK_TYPE):
            yield f"its webhook is removed from {', '.join(webhooks)} at GitHub", False

    def _of_kind(self, kind: str) -> list[RenderedObject]:
        return [each for each in self.objects if each.is_kubernetes and each.kind == kind]

    def _names(self, kind: str) -> list[str]:
        return [each.name for each in self._of_kind(kind)]

    def _repositories(self, type_: str) -> list[str]:
        return sorted({_repository(each) for each in self.objects if each.type == type_})


def deletions(stack: str, changes: Iterable[ObjectChange], acknowledged: Collection[str]) -> tuple[OwnerDeletion, ...]:
    """What a change deletes in a stack, by owner.

    A deploy key that another one of the same repository replaces is rotated, and not listed.
    """
    found = list(changes)
    replaced = {_registration(each.object) for each in found if each.action is Action.ADDED}
    removed = [
        each.object
        for each in found
        if each.action is Action.REMOVED
        and not (each.object.type == DEPLOY_KEY_TYPE and _registration(each.object) in replaced)
    ]
    by_owner: dict[str, list[RenderedObject]] = {}
    for each in removed:
        by_owner.setdefault(each.owner, []).append(each)
    grouped = (OwnerDeletion(stack, owner, tuple(objects)) for owner, objects in sorted(by_owner.items()))
    return tuple(replace(each, acknowledged=each.token in acknowledged) for each in grouped)


def _takes_others_along(rendered: RenderedObject) -> bool:
    return rendered.type == RELEASE_TYPE or (
        rendered.is_kubernetes and rendered.kind in ("Namespace", "CustomResourceDefinition", TENANT)
    )


def _registration(rendered: RenderedObject) -> tuple[str, str, str]:
    """What a deploy key is for."""
    return rendered.type, rendered.owner, _repository(rendered) if rendered.type == DEPLOY_KEY_TYPE else rendered.name


def _repository(rendered: RenderedObject) -> str:
    return str(rendered.manifest["properties"].get("repository"))


def _listed(noun: str, names: list[str]) -> str:
    return f"{noun}{'s' if len(names) > 1 else ''} {', '.join(names)}"
