"""The meaning of a change for its reviewers, as plain data: one report for all stacks.

It says everything once: what is the same in several stacks or for several tenants is one entry of all of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TypeVar

from flux_tenancy.components.config.messages import printable, without_passwords
from flux_tenancy.components.stack.cluster.deletions import ABSENT_TENANT
from flux_tenancy.components.stack.files.project import stack_file_name
from flux_tenancy.components.vocabulary.manifests import qualified
from flux_tenancy.review.changes.fields import TENANT, Lines, as_yaml_lines, diff, is_noise, masked, without_digests
from flux_tenancy.review.changes.keys import KeyChange, ReleaseChange, SecretChange, shared_keys
from flux_tenancy.review.changes.objects import (
    Action,
    FieldChange,
    ObjectChange,
    OwnerDeletion,
    fact_statements,
    is_of_project,
)
from flux_tenancy.review.changes.risks import immutable_fields, matters_of_key
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.rules.table import Finding
from flux_tenancy.review.words import Statement, listed, with_letters_named

_T = TypeVar("_T")
_NAMED = 3
"""Names of objects in a label; the rest is counted."""
_HEADLINE = 200
"""Characters of the danger in the headline."""
EVERYWHERE = "all stacks"
"""Stands for the stacks of what the project decides; no stack has a space in its name."""
KEYS = "Key"
"""The kind of the entries for keys, which are no objects."""


@dataclass(frozen=True)
class StackReport:
    """What a change does to one stack.

    Attributes:
        digest: digest of what would be applied; empty for a stack that is gone.
        is_new: whether the merge base does not have it.
        is_gone: whether the change removes its file.
        onboarded: tenants that are new in it.
        offboarded: tenants that it had.
        absent: those of them that were not leaving, so that the update refuses to delete them.
        keys: the keys of its files that differ.
        facts: what else decides about an update and differs (`review.changes.objects`).
        deletions: what is deleted, by owner.
        said: what policies newly refuse, what new tenants are, who may do more or less than before, and what else is
            dangerous, in this order.
        findings: what in it breaks the rules, whether that is new or not.
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
    absent: tuple[str, ...] = ()
    changes: tuple[ObjectChange, ...] = ()
    keys: tuple[KeyChange, ...] = ()
    facts: tuple[FieldChange, ...] = ()
    releases: tuple[ReleaseChange, ...] = ()
    secrets: tuple[SecretChange, ...] = ()
    deletions: tuple[OwnerDeletion, ...] = ()
    said: tuple[Statement, ...] = ()
    findings: tuple[Finding, ...] = ()
    unused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    is_compared: bool = True
    note: str = ""

    def of_owner(self, owner: str) -> Action:
        """What happens to a tenant as a whole, or to the platform."""
        if owner in self.onboarded:
            return Action.ADDED
        return Action.REMOVED if owner in self.offboarded else Action.CHANGED

    @property
    def is_changed(self) -> bool:
        """Whether anything differs: an object, a key, or what else decides about an update."""
        return bool(self.changes or self.keys or self.facts)

    @property
    def statements(self) -> Iterator[Statement]:
        """Everything that is a sentence, refusals first; not the deletions that need an acknowledgement.

        Letters that are not ASCII are named, and make a sentence a risk: the names of branches, groups, users and hosts
        are in it. Passwords in URLs are left out.
        """
        for each in self._statements():
            text = without_passwords(each.text)
            named = with_letters_named(text)
            access = tuple(with_letters_named(without_passwords(cell)) for cell in each.access)
            yield replace(each, text=named, risk=each.risk or named != text, access=access)

    def _statements(self) -> Iterator[Statement]:
        for name in self.absent:
            yield Statement(name, f"tenants.{name} {ABSENT_TENANT()}", risk=True, names_owner=True)
        yield from self.said
        yield from fact_statements(each for each in self.facts if not is_of_project(each))
        # The keys of a tenant that comes or goes are listed as a whole.
        shown = (each for each in self.secrets if each.copied or self.of_owner(each.owner) is Action.CHANGED)
        yield from map(_of_secret, shown)
        for each in self.deletions:
            if not each.is_missing_acknowledgement:
                for text, deletes_more in each.effects():
                    yield Statement(each.owner, text, deletes_more and not each.acknowledged, names_owner=True)


@dataclass(frozen=True)
class Entry:
    """Objects of one kind, or keys of one file, with which the same happens.

    Attributes:
        action: what happens to them; for keys, ADDED and REMOVED are for all keys of a tenant.
        kind: their kind; KEYS for keys.
        names: their names, with the namespace, e.g. `apps/dev-team`; for keys, the names of their files.
        parts: of changed objects and of keys the diff, by field; of added objects the YAML, by key; none of removed
            ones. Of several owners, placeholders stand for what differs: `<tenant>`, `<namespace>` and `<name>`.
        replaced: the fields because of which they are deleted and created again.
        noise: whether only what describes them changes.
    """

    action: Action
    kind: str
    names: tuple[str, ...]
    parts: tuple[Lines, ...] = ()
    replaced: tuple[str, ...] = ()
    noise: bool = False

    @property
    def label(self) -> str:
        """How they are called, e.g. `RoleBinding apps/dev-team`, and whether they are replaced."""
        if self.kind == KEYS:
            return printable(listed(self.names, _NAMED))
        because = f" is replaced: {', '.join(self.replaced)} cannot change" if self.replaced else ""
        return printable(f"{self.kind} {listed(self.names, _NAMED)}{because}")


@dataclass
class StackGroup:
    """What a change does for some owners, the same in all of these stacks.

    Attributes:
        said: the statements that are no risks.
    """

    stacks: tuple[str, ...]
    said: list[Statement] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    keys: list[Entry] = field(default_factory=list)

    def of(self, action: Action) -> tuple[Entry, ...]:
        """The objects with which this happens, without noise."""
        return tuple(each for each in self.entries if each.action is action and not each.noise)

    @property
    def noise(self) -> tuple[Entry, ...]:
        """The objects of which only labels and annotations change."""
        return tuple(each for each in self.entries if each.noise)


@dataclass(frozen=True)
class ReportSection:
    """What a change does for some owners alike.

    Attributes:
        owners: the tenants, or PLATFORM alone.
    """

    owners: tuple[str, ...]
    groups: tuple[StackGroup, ...]


@dataclass(frozen=True)
class Report:
    """What a change does.

    Attributes:
        base: what it is to be merged into, e.g. `main`.
        stacks: the stacks that it may concern, by name.
        notes: what the report lacks, of all stacks.
    """

    base: str
    commit: str
    stacks: tuple[StackReport, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def risks(self) -> tuple[Statement, ...]:
        """What reviewers have to look at first; refusals before everything else."""
        return (*_said(self._statements(risk=True)), *self._release_risks())

    @cached_property
    def facts(self) -> tuple[FieldChange, ...]:
        """What else decides about the updates of all stacks and differs, each once."""
        found: list[FieldChange] = []
        for each in chain.from_iterable(stack.facts for stack in self.stacks):
            if is_of_project(each) and each not in found:
                found.append(each)
        return tuple(found)

    @cached_property
    def violations(self) -> dict[Finding, tuple[str, ...]]:
        """What breaks a rule, with its stacks."""
        return {each: stacks for each, stacks in self._findings.items() if each.waiver is None}

    @cached_property
    def waived(self) -> dict[Finding, tuple[str, ...]]:
        """What a waiver allows, with its stacks."""
        return {each: stacks for each, stacks in self._findings.items() if each.waiver is not None}

    @property
    def absent(self) -> set[str]:
        """The tenants that updates refuse to delete."""
        return {name for each in self.stacks for name in each.absent}

    @property
    def missing_acknowledgements(self) -> tuple[OwnerDeletion, ...]:
        """The deletions that nobody has acknowledged."""
        return tuple(each for stack in self.stacks for each in stack.deletions if each.is_missing_acknowledgement)

    @property
    def releases(self) -> dict[ReleaseChange, tuple[str, ...]]:
        """The releases that differ, with their stacks."""
        return _with_stacks((each, stack.stack) for stack in self.stacks for each in stack.releases)

    @cached_property
    def sections(self) -> tuple[ReportSection, ...]:
        """What happens to whom: the platform first, then tenants by name. What is the same for several is said once."""
        found: dict[tuple[str, ...], dict[tuple[str, ...], StackGroup]] = defaultdict(dict)

        def group(owners: tuple[str, ...], stacks: tuple[str, ...]) -> StackGroup:
            return found[owners].setdefault(stacks, StackGroup(stacks))

        for said in _alike(self._statements(risk=False)):
            group(said.owners, said.stacks).said.append(said)
        for owners, stacks, entry in _entries((each, stack.stack) for stack in self.stacks for each in stack.changes):
            group(owners, stacks).entries.append(entry)
        keys = ((stack.stack, stack.of_owner(each.owner), each) for stack in self.stacks for each in stack.keys)
        for owners, stacks, action, files, parts in shared_keys(keys):
            group(owners, stacks).keys.append(Entry(action, KEYS, files, parts))
        return tuple(
            ReportSection(owners, tuple(groups[stacks] for stacks in sorted(groups, key=_most_first)))
            for owners, groups in sorted(found.items(), key=lambda item: (item[0] != (PLATFORM,), item[0]))
        )

    @property
    def headline(self) -> str:
        """What matters most, on one line: the first danger itself, and what else there is."""
        parts = [
            *_counted("tenant", self.absent, "missing (the update is refused)"),
            *self._first_risk(),
            *_counted("tenant", {name for each in self.stacks for name in each.onboarded}, "onboarded"),
            *_counted("tenant", self._offboarded, "offboarded"),
            *(_upgrade(each) for each in self.releases if not each.danger),
            *_counted("secret", self._rotated, "rotated"),
            *_counted("violation", self.violations, "of the review rules"),
            *_counted("stack", [each for each in self.stacks if not each.is_compared], "not compared"),
        ]
        if missing := len(self.missing_acknowledgements):
            needs = "deletions need" if missing > 1 else "deletion needs"
            parts.append(f"{missing} {needs} an acknowledgement")
        return ", ".join(dict.fromkeys(parts or self._of_objects() or self._of_keys() or ["No applied object changes"]))

    def _first_risk(self) -> Iterator[str]:
        risks = [each.sentence for each in self.risks if not each.text.endswith(ABSENT_TENANT())]
        if risks:
            yield risks[0] if len(risks[0]) <= _HEADLINE else f"{risks[0][:_HEADLINE].rpartition(' ')[0]} …"
            yield from _counted("more risk", risks[1:])

    @property
    def _offboarded(self) -> set[str]:
        return {name for each in self.stacks for name in each.offboarded if name not in each.absent}

    @property
    def _rotated(self) -> set[str]:
        return {each.key for stack in self.stacks for each in stack.secrets if each.action is Action.CHANGED}

    def _of_objects(self) -> list[str]:
        entries = [entry for section in self.sections for group in section.groups for entry in group.entries]
        meant = [each for each in entries if not each.noise]
        if entries and not meant:
            return ["Only labels and annotations change"]
        return [
            part
            for action in Action
            for part in _counted(
                "object", [name for each in meant if each.action is action for name in each.names], action
            )
        ]

    def _of_keys(self) -> list[str]:
        """What changes if no object does."""
        files: dict[tuple[str, str], list[str]] = defaultdict(list)
        for stack in self.stacks:
            for each in stack.keys:
                # The same key of several stacks is one.
                place = "" if each.file == stack_file_name(stack.stack) else each.file
                files[place, each.field.name].append(each.file)
        parts = [*_counted("key", files, "changed")]
        if len(files) == 1:
            [((_, key), places)] = files.items()
            [matters] = {matters_of_key(each.path) for stack in self.stacks for each in stack.keys}
            how = f" ({matters})" if matters else ""
            parts = [f"Key changed{how}: {key} in {listed([*dict.fromkeys(places)])}"]
        return [*parts, *(each.text for each in fact_statements(self.facts))]

    @property
    def _findings(self) -> dict[Finding, tuple[str, ...]]:
        return _with_stacks((each, stack.stack) for stack in self.stacks for each in stack.findings)

    def _release_risks(self) -> Iterator[Statement]:
        for each, stacks in self.releases.items():
            if each.danger:
                yield Statement(PLATFORM, f"{each.title} {each.danger}", risk=True, names_owner=True, stacks=stacks)

    def _statements(self, *, risk: bool) -> Iterator[tuple[Statement, str]]:
        """The statements with their stacks; what holds for the project is said once."""
        yield from ((each, EVERYWHERE) for each in fact_statements(self.facts) if each.risk is risk)
        for stack in self.stacks:
            yield from ((each, stack.stack) for each in stack.statements if each.risk is risk)


def _most_first(stacks: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    return -len(stacks), stacks


def _with_stacks(found: Iterable[tuple[_T, str]]) -> dict[_T, tuple[str, ...]]:
    """What is the same in several stacks once, with all of them."""
    stacks: dict[_T, list[str]] = defaultdict(list)
    for each, stack in found:
        stacks[each].append(stack)
    return {each: tuple(names) for each, names in stacks.items()}


def _said(statements: Iterable[tuple[Statement, str]]) -> Iterator[Statement]:
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
            yield replace(each, owner=owners[0], others=tuple(owners[1:]), stacks=stacks_of)


def _alike(statements: Iterable[tuple[Statement, str]]) -> Iterator[Statement]:
    """Statements that differ in the names of their tenants alone as one, with a placeholder for the name."""
    found: dict[object, list[Statement]] = defaultdict(list)
    for each in _said(statements):
        owner = PLATFORM if each.others or not each.names_owner else each.owner
        text = each.text if owner == PLATFORM else _masked(each.text, owner)
        is_own = each.text != text
        found[each.stacks, text, each.names_owner, is_own or each.owners].append(each)
    for same in found.values():
        if len(same) == 1:
            yield same[0]
        else:
            first, *others = (owner for each in same for owner in each.owners)
            access = tuple(_masked(each, first) for each in same[0].access)
            text = _masked(same[0].text, first)
            yield replace(same[0], owner=first, others=tuple(others), text=text, access=access)


def _masked(text: str, owner: str) -> str:
    """A sentence with a placeholder for its tenant where that is its subject, its place, or has a secret."""
    name = re.escape(owner)
    return re.sub(rf"^{name}(?= |$)|(?<=\bin ){name}$|(?<=^the secret tenants\.){name}(?=\.)", TENANT, text)


def _entries(changes: Iterable[tuple[ObjectChange, str]]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], Entry]]:
    """The objects that differ, those alike as one entry, each with its owners and stacks."""
    stacks: dict[tuple[object, ...], list[str]] = defaultdict(list)
    first: dict[tuple[object, ...], ObjectChange] = {}
    key: tuple[object, ...]
    for change, stack in changes:
        key = (change.object.owner, change.action, change.object.key, without_digests(_content(change)))
        stacks[key].append(stack)
        first.setdefault(key, change)
    alike: dict[tuple[tuple[str, ...], object], list[ObjectChange]] = defaultdict(list)
    for key, change in first.items():
        found = change.object
        shape = (found.owner == PLATFORM, change.action, found.type, _content(masked(change)))
        alike[tuple(stacks[key]), shape].append(change)
    for (places, _), same in alike.items():
        yield tuple(dict.fromkeys(each.object.owner for each in same)), places, _entry(same)


def _content(change: ObjectChange) -> str:
    """All that a change does to an object, as one text."""
    if change.action is Action.CHANGED:
        return repr([(each.name, each.before, each.after) for each in change.fields])
    return repr((change.object.manifest, change.object.protected)) if change.action is Action.ADDED else ""


def _entry(same: Sequence[ObjectChange]) -> Entry:
    """The entry of objects with which the same happens."""
    change = same[0]
    shown = masked(change) if len(same) > 1 else change
    parts = diff(shown) if change.action is Action.CHANGED else ()
    parts = as_yaml_lines(shown.object) if change.action is Action.ADDED else parts
    names = tuple(qualified(each.object.namespace, each.object.name) for each in same)
    noise = change.action is Action.CHANGED and is_noise(change)
    return Entry(change.action, change.object.kind, names, parts, immutable_fields(change), noise)


def _of_secret(change: SecretChange) -> Statement:
    what = {Action.ADDED: "new", Action.CHANGED: "rotated", Action.REMOVED: "removed"}[change.action]
    copied = f": it is the value of {change.copied}, which whoever uses this key gets" if change.copied else ""
    return Statement(change.owner, f"the secret {change.key} is {what}{copied}", bool(copied), names_owner=True)


def _upgrade(change: ReleaseChange) -> str:
    if change.before is None:
        return f"{change.title} installed"
    if change.after is None:
        return f"{change.title} removed"
    return f"{change.title} upgraded to {change.after.version}"


def _counted(noun: str, items: Iterable[object], what: str = "") -> Iterator[str]:
    if count := len(list(items)):
        yield " ".join(filter(None, (str(count), noun if count == 1 else f"{noun}s", what)))
