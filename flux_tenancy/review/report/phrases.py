"""Phrases that the report for a terminal and the one for a comment share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from flux_tenancy.components.config.errors import present
from flux_tenancy.components.stack.files.project import stack_file_name
from flux_tenancy.review.changes.keys import Release
from flux_tenancy.review.changes.objects import Action, OwnerDeletion
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.report.model import Entry, Report, StackGroup, StackReport
from flux_tenancy.review.rules.table import Finding, described, waiver_text
from flux_tenancy.review.words import listed

_DIGITS = 12
"""Digits of a digest that are shown where it only tells one release from another."""
NOISE = "changed in labels, annotations and messages only"
"""What happens to objects whose other fields stay."""


def title(owners: Sequence[str]) -> str:
    """The heading of a section."""
    if tuple(owners) == (PLATFORM,):
        return "Platform"
    return f"Tenant {owners[0]}" if len(owners) == 1 else f"{len(owners)} tenants: {listed(owners)}"


def compared(report: Report) -> str:
    """What the report compares."""
    changed = [each.stack for each in report.stacks if each.is_changed]
    unchanged = [each.stack for each in report.stacks if each.is_compared and not each.is_changed and not each.is_gone]
    parts = [f"Compared with {report.base} at {report.commit[:10]}"]
    parts += [f"{listed(changed)} would change"] if changed else []
    parts += [f"{listed(unchanged)} would not"] if unchanged and changed else []
    return "; ".join(parts)


def remarks(report: Report) -> list[str]:
    """What the report lacks, and what is particular about stacks: new, gone or not compared, soon not updated."""
    found = [*report.notes]
    found += [f"{each.stack} is a new stack" for each in report.stacks if each.is_new]
    found += [
        f"{each.stack} is no longer described; its objects stay until `pulumi destroy --stack {each.stack}`"
        for each in report.stacks
        if each.is_gone
    ]
    notes: dict[str, list[str]] = {}
    for each in report.stacks:
        for note in filter(None, (each.note, *each.warnings)):
            notes.setdefault(note, []).append(each.stack)
    found += [f"{listed(stacks)}: {note}" for note, stacks in notes.items()]
    return found + [
        f"{each.stack}: {entry} in review.acknowledge matches no deletion; remove it"
        for each in report.stacks
        for entry in each.unused
    ]


def counts(group: StackGroup) -> str:
    """How many objects of a group differ, e.g. `2 objects added, 1 changed`; empty without any."""
    found = [(number(group.of(action)), action.value) for action in Action]
    found.append((number(group.noise), NOISE))
    parts = [f"{count} {what}" for count, what in found if count]
    if not parts:
        return ""
    first, _, rest = parts[0].partition(" ")
    return ", ".join([f"{first} object{'' if first == '1' else 's'} {rest}", *parts[1:]])


def number(entries: Iterable[Entry]) -> int:
    """How many objects entries stand for."""
    return sum(len(each.names) for each in entries)


def diff_lines(entries: Sequence[Entry]) -> list[str]:
    """The diff of changed objects, each below its name."""
    found: list[str] = []
    for entry in entries:
        found += [*([""] if found else []), entry.label, *chain.from_iterable(entry.parts)]
    return found


def keys_title(entry: Entry) -> str:
    """What is listed, of the keys of an entry."""
    return "Changed keys" if entry.action is Action.CHANGED else "Keys"


def to_approve(report: Report) -> list[StackReport]:
    """The stacks of which something differs, or may differ."""
    return [each for each in report.stacks if each.digest and (each.is_changed or not each.is_compared)]


def release(found: Release | None) -> str:
    """A release as a reader tells it from another."""
    return f"{found.version} (sha256 {found.sha256[:_DIGITS]}…)" if found else "none"


def violation(finding: Finding) -> str:
    """What breaks a rule, and what to do about it."""
    return f"{described(finding)}; {finding.message.remedy}"


def waiver(finding: Finding) -> str:
    """What a waiver allows, until when and why."""
    return f"{described(finding)}; {waiver_text(present(finding.waiver, 'the finding is waived'))}"


def deleted(deletion: OwnerDeletion) -> str:
    """What a deletion takes with it, as one sentence."""
    count = len(deletion.objects)
    said = f"{count} object{'s are' if count > 1 else ' is'} deleted"
    return "; ".join([said, *deletion.consequences()])


def how_to_acknowledge(deletion: OwnerDeletion) -> tuple[str, str]:
    """The entry that acknowledges a deletion, and the file that it belongs in."""
    return deletion.token, stack_file_name(deletion.stack)
