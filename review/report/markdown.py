"""The report as the comment of a pull request: what matters first, details folded, cut so that the risks stay.

Each block of it is complete Markdown by itself and has shorter forms, down to none. Where the whole is too long, the
block that matters least takes its next form, so that nothing ends in the middle of a table or of code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from heapq import heapify, heappop, heappush

from flux_tenancy.review.changes.objects import Action
from flux_tenancy.review.report.model import Entry, Group, Report
from flux_tenancy.review.report.phrases import (
    compared,
    counts,
    deleted,
    diff_lines,
    how_to_acknowledge,
    release,
    remarks,
    title,
    violation,
    waiver,
)
from flux_tenancy.review.words.escaping import code, fenced, inline
from flux_tenancy.review.words.lists import listed

LIMIT = 60_000
"""Bytes of a report. GitHub takes 65,536 characters, of which whoever posts it needs some for a marker and links."""
_OPEN_LINES = 12
"""A diff of up to this many lines is not folded."""
_ITEMS = (400, 100, 20)
"""Lengths to which a list is cut, one after the other."""


class _Keep(IntEnum):
    """How long a block is kept whole; the highest is cut first."""

    ALWAYS = 0
    RISKS = 1
    MEANING = 2
    OBJECTS = 3
    DIFFS = 4


@dataclass
class _Block:
    """A part of the comment.

    Attributes:
        keep: how long it is kept whole.
        forms: the whole of it, then shorter ones; empty for none.
    """

    keep: _Keep
    forms: list[str]

    @property
    def size(self) -> int:
        return len(self.forms[0].encode())


def as_markdown(report: Report, limit: int = LIMIT) -> str:
    """The report as GitHub's Markdown, with at most this many bytes.

    Everything that the report contains of others is escaped. It has no marker; whoever posts it adds one
    (`review.host.report_comment`).
    """
    blocks = [block for block in _blocks(report) if block.forms[0]]
    whole = _joined(blocks)
    if len(whole.encode()) <= limit:
        return whole
    note = _Block(_Keep.ALWAYS, [_shortened(report)])
    blocks.insert(1, note)
    size = len(_joined(blocks).encode())
    # What matters least first, and of that the longest, so that short ones stay.
    queue = [(-block.keep, -block.size, index) for index, block in enumerate(blocks) if len(block.forms) > 1]
    heapify(queue)
    while size > limit and queue:
        _, _, index = heappop(queue)
        block = blocks[index]
        size -= block.size
        del block.forms[0]
        size += block.size
        if len(block.forms) > 1:
            heappush(queue, (-block.keep, -block.size, index))
    return _joined(blocks)


def _joined(blocks: Sequence[_Block]) -> str:
    return "\n\n".join(block.forms[0] for block in blocks if block.forms[0]) + "\n"


def _shortened(report: Report) -> str:
    return (
        "> [!NOTE]\n> This comment is shortened to what GitHub accepts: details first, risks last. "
        f"`flux-tenancy review diff --base {inline(report.base)}` shows the whole."
    )


def _blocks(report: Report) -> Iterator[_Block]:
    yield _Block(_Keep.ALWAYS, [f"## {inline(report.headline)}"])
    yield _Block(_Keep.ALWAYS, [_sentence(compared(report))])
    yield _list("", [_sentence(text) for text in remarks(report)], _Keep.RISKS)
    yield _list(
        _alert("CAUTION", "Deletions that need an acknowledgement"), _acknowledgements(report), _Keep.RISKS, "> "
    )
    yield _list("### Risks", [f"{_on(each.stacks)}{_sentence(each.sentence)}" for each in report.risks], _Keep.RISKS)
    violations = [f"{_on(stacks)}{_sentence(violation(each))}" for each, stacks in report.violations.items()]
    yield _list("### Violations of the review rules", violations, _Keep.RISKS)
    yield _Block(_Keep.RISKS, [_releases(report)])
    waivers = [f"{_on(stacks)}{_sentence(waiver(each))}" for each, stacks in report.waived.items()]
    yield _list("### Waivers", waivers, _Keep.MEANING)
    for section in report.sections:
        heading = f"### {inline(title(section.owners))}"
        for group in section.groups:
            yield _meaning(heading, group)
            yield from _objects(group)
            heading = ""
    yield _Block(_Keep.ALWAYS, [_approval(report)])


def _alert(kind: str, text: str) -> str:
    return f"> [!{kind}]\n> **{text}**\n>"


def _acknowledgements(report: Report) -> list[str]:
    found = []
    for each in report.missing_acknowledgements:
        entry, file = how_to_acknowledge(each)
        found.append(
            f"**{inline(title((each.owner,)))}** on {inline(each.stack)}: {inline(deleted(each))}. To accept this, add "
            f"{code(entry)} to `review.acknowledge` in {code(file)}."
        )
    return found


def _list(heading: str, items: Sequence[str], keep: _Keep, prefix: str = "") -> _Block:
    """A list that is cut item by item, with the number of those that are left out."""

    def form(most: int) -> str:
        lines = [f"{prefix}- {item}" for item in items[:most]]
        if len(items) > most:
            lines.append(f"{prefix}- … and {len(items) - most} more")
        separator = "\n" if prefix else "\n\n"
        return f"{heading}{separator}" * bool(heading) + "\n".join(lines)

    if not items:
        return _Block(keep, [""])
    return _Block(keep, [form(len(items)), *(form(most) for most in _ITEMS if most < len(items))])


def _releases(report: Report) -> str:
    rows = []
    for each, stacks in report.releases.items():
        links = [
            f"[{text}]({address})"
            for text, address in (("changelog", each.changelog), ("commits", each.commits))
            if address
        ]
        cells = [
            each.title,
            inline(", ".join(stacks)),
            inline(release(each.before)),
            inline(release(each.after)),
            ", ".join(links),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    if not rows:
        return ""
    return "\n".join(
        [
            "### Releases",
            "",
            "| Release | Stacks | Before | After | Upstream |",
            "| --- | --- | --- | --- | --- |",
            *rows,
        ]
    )


def _meaning(heading: str, group: Group) -> _Block:
    where = f"**On {inline(listed(group.stacks))}**" + (f": {counts(group)}" if group.entries else "")
    items = [_sentence(each.sentence) for each in group.said]
    whole = (
        _list(f"{heading}\n\n{where}".strip(), items, _Keep.MEANING)
        if items
        else _Block(_Keep.MEANING, [f"{heading}\n\n{where}".strip()])
    )
    return _Block(_Keep.MEANING, [*whole.forms, ""])


def _objects(group: Group) -> Iterator[_Block]:
    if changed := group.of(Action.CHANGED):
        lines = diff_lines(changed)
        diff = fenced(lines, "diff")
        whole = diff if len(lines) <= _OPEN_LINES else _folded("Changed", diff)
        yield _Block(_Keep.DIFFS, [whole, _folded("Changed (without the diff)", _labels(changed)), ""])
    for action in (Action.ADDED, Action.REMOVED):
        if entries := group.of(action):
            yield _Block(_Keep.OBJECTS, [_folded(action.capitalize(), _labels(entries)), ""])
    if group.noise:
        yield _Block(_Keep.DIFFS, [_folded("Changed in labels and annotations only", _labels(group.noise)), ""])


def _labels(entries: Sequence[Entry]) -> str:
    return "\n".join(f"- {code(each.label)}" for each in entries)


def _folded(summary: str, content: str) -> str:
    """Content that is shown on a click. GitHub reads it as Markdown after an empty line."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _approval(report: Report) -> str:
    stacks = [each for each in report.stacks if each.digest and (each.changes or not each.is_compared)]
    if not stacks:
        return ""
    commands = [f"flux-tenancy up --stack {each.stack} --approved {each.digest}" for each in stacks]
    return "\n\n".join(
        ["### Approve", "These commands apply exactly the changes described here:", fenced(commands, "console")]
    )


def _on(stacks: Sequence[str]) -> str:
    return f"**{inline(listed(stacks))}**: "


def _sentence(text: str) -> str:
    return f"{inline(text)}."
