"""The meaning of a change for its reviewers, as plain data: one report for all stacks.

It says everything once: what is the same in several stacks or for several tenants is one entry of all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from flux_tenancy.review.changes.deletions import Deletion
from flux_tenancy.review.changes.fields import is_noise, label, lines
from flux_tenancy.review.changes.objects import Action, ObjectChange
from flux_tenancy.review.changes.releases import ReleaseChange
from flux_tenancy.review.changes.secrets import SecretChange
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.rules.findings import Finding
from flux_tenancy.review.words.lists import listed
from flux_tenancy.review.words.statement import Statement

_T = TypeVar("_T")


@dataclass(frozen=True)
class StackReport:
    """What a change does to one stack.

    Attributes:
        stack: name of the stack.
        digest: digest of what would be applied; empty for a stack that is gone.
        is_new: whether the merge base does not have it.
        is_gone: whether the change removes its file.
        onboarded: tenants that are new in it.
        offboarded: tenants that it had.
        changes: the objects that differ.
        releases: the upstream releases that differ.
        secrets: the secrets that differ.
        deletions: what is deleted, by owner.
        access: who may do more or less than before.
        refusals: what this program's own policies newly refuse.
        findings: what in it breaks the rules, whether that is new or not.
        dangers: what else is dangerous.
        unused: entries of `review.acknowledge` that fit no deletion.
        warnings: what will soon stop updates.
        is_compared: whether there is anything to compare with; False if the merge base cannot be rendered.
        note: why the comparison is incomplete; empty if it is not.
    """

    stack: str
    digest: str
    is_new: bool = False
    is_gone: bool = False
    onboarded: tuple[str, ...] = ()
    offboarded: tuple[str, ...] = ()
    changes: tuple[ObjectChange, ...] = ()
    releases: tuple[ReleaseChange, ...] = ()
    secrets: tuple[SecretChange, ...] = ()
    deletions: tuple[Deletion, ...] = ()
    access: tuple[Statement, ...] = ()
    refusals: tuple[Statement, ...] = ()
    findings: tuple[Finding, ...] = ()
    dangers: tuple[Statement, ...] = ()
    unused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    is_compared: bool = True
    note: str = ""

    @property
    def statements(self) -> Iterator[Statement]:
        """Everything that is a sentence, refusals first; not the deletions that need an acknowledgement."""
        yield from self.refusals
        yield from self.access
        yield from self.dangers
        yield from map(_of_secret, self.secrets)
        for each in self.deletions:
            if not each.is_missing_acknowledgement:
                yield from (Statement(each.owner, text, names_owner=True) for text in each.consequences())


@dataclass(frozen=True)
class Said:
    """A statement with everyone that it holds for.

    Attributes:
        owners: the tenants, or PLATFORM.
        stacks: the stacks.
        text: the sentence.
        risk: whether reviewers have to look at it first.
        names_owner: whether the sentence has its own subject.
    """

    owners: tuple[str, ...]
    stacks: tuple[str, ...]
    text: str
    risk: bool
    names_owner: bool

    @property
    def sentence(self) -> str:
        """The sentence with its subject, without a period."""
        if self.names_owner:
            return self.text
        return f"{'the platform' if self.owners == (PLATFORM,) else listed(self.owners)} {self.text}"


@dataclass(frozen=True)
class Entry:
    """An object that differs in the same way in several stacks.

    Attributes:
        action: what happens to it.
        label: how it is called.
        kind: its kind.
        lines: the lines of its diff; empty unless it is changed.
        content: stands for all that changes in it, of which the lines may show a part.
        noise: whether only what describes it changes.
    """

    action: Action
    label: str
    kind: str
    lines: tuple[str, ...] = ()
    content: str = ""
    noise: bool = False


@dataclass(frozen=True)
class Group:
    """What a change does for one owner, the same in all of these stacks.

    Attributes:
        stacks: the stacks.
        said: the statements that are no risks.
        entries: the objects.
    """

    stacks: tuple[str, ...]
    said: tuple[Said, ...]
    entries: tuple[Entry, ...]

    def of(self, action: Action) -> tuple[Entry, ...]:
        """The objects with which this happens, without noise."""
        return tuple(each for each in self.entries if each.action is action and not each.noise)

    @property
    def noise(self) -> tuple[Entry, ...]:
        """The objects of which only labels and annotations change."""
        return tuple(each for each in self.entries if each.noise)


@dataclass(frozen=True)
class Section:
    """What a change does for some owners, to whom the same happens.

    Attributes:
        owners: the tenants, or PLATFORM alone.
        groups: by stacks. Objects are those of the first owner.
    """

    owners: tuple[str, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Report:
    """What a change does.

    Attributes:
        base: what it is to be merged into, e.g. `main`.
        commit: the merge base.
        stacks: the stacks that it may concern, by name.
        notes: what the report lacks, of all stacks.
    """

    base: str
    commit: str
    stacks: tuple[StackReport, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def risks(self) -> tuple[Said, ...]:
        """What reviewers have to look at first; refusals before everything else."""
        return (*_said(self._statements(risk=True)), *self._release_risks())

    @cached_property
    def violations(self) -> dict[Finding, tuple[str, ...]]:
        """What breaks a rule, with its stacks."""
        return {each: stacks for each, stacks in self._findings.items() if each.waiver is None}

    @cached_property
    def waived(self) -> dict[Finding, tuple[str, ...]]:
        """What a waiver allows, with its stacks."""
        return {each: stacks for each, stacks in self._findings.items() if each.waiver is not None}

    @property
    def missing_acknowledgements(self) -> tuple[Deletion, ...]:
        """The deletions that nobody has acknowledged."""
        return tuple(each for stack in self.stacks for each in stack.deletions if each.is_missing_acknowledgement)

    @property
    def releases(self) -> dict[ReleaseChange, tuple[str, ...]]:
        """The releases that differ, with their stacks."""
        return _with_stacks((each, stack.stack) for stack in self.stacks for each in stack.releases)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """What happens to whom: the platform first, then tenants by name; owners with the same changes together."""
        by_shape: dict[object, list[tuple[str, tuple[Group, ...]]]] = defaultdict(list)
        entries: dict[str, list[tuple[Entry, str]]] = defaultdict(list)
        for stack in self.stacks:
            for change in stack.changes:
                entries[change.object.owner].append((_entry(change), stack.stack))
        statements: dict[str, list[tuple[Statement, str]]] = defaultdict(list)
        for each in self._statements(risk=False):
            statements[each[0].owner].append(each)
        for owner in sorted({*entries, *statements}, key=lambda name: (name != PLATFORM, name)):
            groups = tuple(_groups(entries[owner], statements[owner]))
            by_shape[_shape(owner, groups)].append((owner, groups))
        return tuple(Section(tuple(owner for owner, _ in same), same[0][1]) for same in by_shape.values())

    @property
    def headline(self) -> str:
        """What matters most, on one line."""
        parts = [
            *_counted("tenant", {name for each in self.stacks for name in each.onboarded}, "onboarded"),
            *_counted("tenant", {name for each in self.stacks for name in each.offboarded}, "offboarded"),
            *(_upgrade(each) for each in self.releases),
            *_counted("secret", self._rotated, "rotated"),
            *_counted("risk", self.risks),
            *_counted("violation", self.violations, "of the review rules"),
            *_counted("stack", [each for each in self.stacks if not each.is_compared], "not compared"),
        ]
        if missing := len(self.missing_acknowledgements):
            needs = "deletions need" if missing > 1 else "deletion needs"
            parts.append(f"{missing} {needs} an acknowledgement")
        if len(parts) == len(self.risks) == 1:
            return f"{parts[0]}: {self.risks[0].sentence}"
        return ", ".join(dict.fromkeys(parts or self._of_objects()))

    @property
    def _rotated(self) -> set[str]:
        return {each.key for stack in self.stacks for each in stack.secrets if each.action is Action.CHANGED}

    def _of_objects(self) -> list[str]:
        entries = [
            entry
            for section in self.sections
            for group in section.groups
            for entry in group.entries * len(section.owners)
        ]
        if not entries:
            return ["No applied object changes"]
        meant = [each for each in entries if not each.noise]
        if not meant:
            return ["Only labels and annotations change"]
        found = [*_counted("object", [each for each in meant if each.action is Action.ADDED], "added")]
        found += _counted("object", [each for each in meant if each.action is Action.CHANGED], "changed")
        return found + [*_counted("object", [each for each in meant if each.action is Action.REMOVED], "removed")]

    @property
    def _findings(self) -> dict[Finding, tuple[str, ...]]:
        return _with_stacks((each, stack.stack) for stack in self.stacks for each in stack.findings)

    def _release_risks(self) -> Iterator[Said]:
        for each, stacks in self.releases.items():
            if each.is_downgrade or each.is_replaced:
                what = "is downgraded" if each.is_downgrade else "has the same version, but another digest"
                yield Said((PLATFORM,), stacks, f"{each.title} {what}", True, True)

    def _statements(self, *, risk: bool) -> Iterator[tuple[Statement, str]]:
        """The statements with their stacks."""
        for stack in self.stacks:
            yield from ((each, stack.stack) for each in stack.statements if each.risk is risk)


def _with_stacks(found: Iterable[tuple[_T, str]]) -> dict[_T, tuple[str, ...]]:
    """What is the same in several stacks once, with all of them."""
    stacks: dict[_T, list[str]] = defaultdict(list)
    for each, stack in found:
        stacks[each].append(stack)
    return {each: tuple(names) for each, names in stacks.items()}


def _said(statements: Iterable[tuple[Statement, str]]) -> Iterator[Said]:
    """Each sentence once, with the owners and stacks that it holds for."""
    places: dict[Statement, dict[str, list[str]]] = {}
    for each, stack in statements:
        by_owner = places.setdefault(replace(each, owner=""), {})
        by_owner.setdefault(each.owner, []).append(stack)
    for each, by_owner in places.items():
        by_stacks: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for name, stacks in by_owner.items():
            by_stacks[tuple(dict.fromkeys(stacks))].append(name)
        for stacks_of, owners in by_stacks.items():
            yield Said(tuple(owners), stacks_of, each.text, each.risk, each.names_owner)


def _groups(entries: Iterable[tuple[Entry, str]], statements: Iterable[tuple[Statement, str]]) -> Iterator[Group]:
    """What happens to one owner, by the stacks in which it is the same."""
    places: dict[Entry, list[str]] = defaultdict(list)
    for entry, stack in entries:
        places[entry].append(stack)
    by_stacks: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry, stacks in places.items():
        by_stacks[tuple(stacks)].append(entry)
    said: dict[tuple[str, ...], list[Said]] = defaultdict(list)
    for sentence in _said(statements):
        said[sentence.stacks].append(sentence)
    for stacks_of in sorted({*by_stacks, *said}, key=lambda names: (-len(names), names)):
        yield Group(stacks_of, tuple(said[stacks_of]), tuple(by_stacks[stacks_of]))


def _entry(change: ObjectChange) -> Entry:
    noise = change.action is Action.CHANGED and is_noise(change)
    content = str(hash(repr(change.fields))) if change.fields else ""
    return Entry(change.action, label(change.object), change.object.kind, tuple(lines(change)), content, noise)


def _shape(owner: str, groups: Sequence[Group]) -> object:
    """What two tenants have in common to whom the same happens. The platform has nothing in common with a tenant."""
    return owner == PLATFORM, tuple(
        (
            group.stacks,
            tuple(each.text.replace(owner, "") for each in group.said),
            tuple(sorted((each.action, each.kind, each.noise, each.content) for each in group.entries)),
        )
        for group in groups
    )


def _of_secret(change: SecretChange) -> Statement:
    what = {Action.ADDED: "new", Action.CHANGED: "rotated", Action.REMOVED: "removed"}[change.action]
    return Statement(change.owner, f"the secret {change.key} is {what}", names_owner=True)


def _upgrade(change: ReleaseChange) -> str:
    if change.before is None:
        return f"{change.title} installed"
    if change.after is None:
        return f"{change.title} removed"
    if change.is_replaced:
        return f"{change.title} pinned to another digest"
    return f"{change.title} {'downgraded' if change.is_downgrade else 'upgraded'} to {change.after.version}"


def _counted(noun: str, items: Iterable[object], what: str = "") -> Iterator[str]:
    if count := len(list(items)):
        yield " ".join(filter(None, (str(count), noun if count == 1 else f"{noun}s", what)))
