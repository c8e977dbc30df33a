"""The report as the comment of a pull request: what matters first, details folded.

A report that is too long for a comment is shortened to its sentences, most important first, and counts what changes by
kind and owner. The whole is in the summary of the job. Each list ends with the number of lines that are left out, and
nothing ends in the middle of a table or of code.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from flux_tenancy.review.changes.fields import masked_names
from flux_tenancy.review.changes.objects import Action
from flux_tenancy.review.report.model import Entry, Group, Report, Said, Section
from flux_tenancy.review.report.phrases import (
    NOISE,
    compared,
    counts,
    deleted,
    diff_lines,
    how_to_acknowledge,
    keys_title,
    release,
    remarks,
    title,
    to_approve,
    violation,
    waiver,
)
from flux_tenancy.review.words.escaping import code, fenced, inline
from flux_tenancy.review.words.lists import fitting, listed, size_of

LIMIT = 60_000
"""Bytes of a comment. GitHub takes 65,536 characters, of which whoever posts it needs some for a marker and links."""
SUMMARY_LIMIT = 1_000_000
"""Bytes of a job summary. GitHub takes 1 MiB of each step.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits
"""
_OPEN_LINES = 12
"""A diff of up to this many lines is not folded."""
_DISTINCT = re.compile(r"\S*[\d/.:_-]\S*")

_Kind = tuple[Action, str, bool]
"""What happens to which kind of object, and whether it is noise."""


def as_markdown(report: Report, limit: int = LIMIT, whole_at: str = "") -> str:
    """The report as GitHub's Markdown, with at most this many bytes.

    Everything that the report contains of others is escaped. It has no marker; whoever posts it adds one
    (`review.host.report_comment`).

    Args:
        report: the report.
        limit: bytes of the result.
        whole_at: address of the whole report, for one that is shortened; empty if there is none.
    """
    top = [f"## {inline(report.headline)}", _sentence(compared(report))]
    whole = _joined(
        [
            *top,
            *(each.text() for each in _lists(report)),
            *map(_section, report.sections),
            *(each.text() for each in _approval(report)),
        ]
    )
    if len(whole.encode()) <= limit:
        return whole
    top.append(_shortened(report, whole_at))
    lists = [*_lists(report), *_counted(report), *_approval(report)]
    return _joined([*top, *_within(limit - size_of(_joined(top)), lists)])


@dataclass(frozen=True)
class _List:
    """Lines of text with what stands around them.

    Attributes:
        before: what comes before the lines.
        lines: the lines; there is at least one.
        more: says what is left out, from the indexes of its lines.
        after: what comes after the lines.
        order: indexes of the lines, in the order in which they are kept; by default the first ones are kept.
    """

    before: str
    lines: Sequence[str]
    more: Callable[[Sequence[int]], str]
    after: str = ""
    order: Sequence[int] = ()

    @property
    def least(self) -> int:
        """Bytes that it needs to say how much there is, with an empty line."""
        return size_of(f"{self.before}{self.more(range(len(self.lines)))}{self.after}") + 1

    @property
    def rest(self) -> int:
        """Bytes that it needs beside that to say everything, at most."""
        return sum(map(size_of, self.lines))

    def text(self, room: int | None = None) -> str:
        """All of it, or as much as fits into `least` and this many bytes."""
        lines = self.lines if room is None else fitting(self.lines, room, self.more, self.order)
        return self.before + "\n".join(lines) + self.after


def _within(room: int, lists: Sequence[_List]) -> list[str]:
    """The lists with at most this many bytes. Each has an equal share; what one does not need is for the first ones."""
    room -= sum(each.least for each in lists)
    share = max(room, 0) // len(lists)
    spare = room - sum(min(each.rest, share) for each in lists)
    found = []
    for each in lists:
        further = max(min(each.rest - share, spare), 0)
        spare -= further
        found.append(each.text(share + further))
    return found


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(blocks) + "\n"


def _shortened(report: Report, whole_at: str) -> str:
    command = f"`flux-tenancy review diff --base {inline(report.base)}` shows the whole"
    where = f"The whole is in [the summary of the run]({whole_at}), and {command}." if whole_at else f"{command}."
    return (
        "> [!NOTE]\n> This comment is shortened to what GitHub accepts. What changes is counted by kind and owner. "
        f"{where}"
    )


def _lists(report: Report) -> Iterator[_List]:
    """What is said of the whole change; no list is empty."""
    yield from _items("", [_sentence(text) for text in remarks(report)])
    caution = "> [!CAUTION]\n> **Deletions that need an acknowledgement**\n>\n"
    yield from _items(caution, _acknowledgements(report), "> ")
    risks = [f"{_on(each.stacks)}{_sentence(each.sentence)}" for each in report.risks]
    yield from _items("### Risks\n\n", risks, order=_distinct_first(report.risks))
    violations = [f"{_on(stacks)}{_sentence(violation(each))}" for each, stacks in report.violations.items()]
    yield from _items("### Violations of the review rules\n\n", violations)
    yield from _releases(report)
    waivers = [f"{_on(stacks)}{_sentence(waiver(each))}" for each, stacks in report.waived.items()]
    yield from _items("### Waivers\n\n", waivers)


def _counted(report: Report) -> Iterator[_List]:
    """In a shortened report, what is said of owners, and what else changes by kind and owner."""
    groups = [(section, group) for section in report.sections for group in section.groups]
    said = [each for _, group in groups for each in group.said]
    sentences = [f"{_on(each.stacks)}{_sentence(each.sentence)}" for each in said]
    yield from _items("### Access and settings\n\n", sentences, order=_distinct_first(said))
    changing = [(section, group, _kinds(group)) for section, group in groups if group.entries or group.keys]
    objects = sum((kinds for *_, kinds in changing), Counter[_Kind]())
    lines = [
        f"- {inline(title(section.owners))} on {inline(listed(group.stacks))}: {_kinds_text(kinds)}"
        for section, group, kinds in changing
    ]

    def more(left: Sequence[int]) -> str:
        kinds = sum((changing[index][2] for index in left), Counter[_Kind]())
        return f"- … and {len(left)} more: {_kinds_text(kinds)}"

    # A change of a kind that few have is not left out for one that many have.
    order = sorted(range(len(lines)), key=lambda index: min(objects[kind] for kind in changing[index][2]))
    if lines:
        yield _List("### Changed objects and keys\n\n", lines, more, order=order)


def _approval(report: Report) -> Iterator[_List]:
    commands = [f"flux-tenancy up --stack {each.stack} --approved {each.digest}" for each in to_approve(report)]
    if commands:
        # A name of a stack has no backtick.
        before, after = _folded("Commands that apply exactly these changes", "```console\n|\n```").split("|")
        yield _List(f"### Approve\n\n{before}", commands, lambda left: f"# … and {len(left)} more", after)


def _items(before: str, items: Sequence[str], prefix: str = "", order: Sequence[int] = ()) -> Iterator[_List]:
    """A list of sentences, if there are some."""
    if items:
        lines = [f"{prefix}- {item}" for item in items]
        yield _List(before, lines, lambda left: f"{prefix}- … and {len(left)} more", order=order)


def _distinct_first(found: Sequence[Said]) -> list[int]:
    """The order in which sentences are kept: one of each first, whatever names are in it."""
    seen, places = Counter[str](), []
    for index, each in enumerate(found):
        sentence = _DISTINCT.sub("*", masked_names(each.text, dict.fromkeys(each.owners, "*")))
        places.append((seen[sentence], index))
        seen[sentence] += 1
    return [index for _, index in sorted(places)]


def _acknowledgements(report: Report) -> list[str]:
    found = []
    for each in report.missing_acknowledgements:
        entry, file = how_to_acknowledge(each)
        found.append(
            f"**{inline(title((each.owner,)))}** on {inline(each.stack)}: {inline(deleted(each))}. To accept this, add "
            f"{code(entry)} to `review.acknowledge` in {code(file)}."
        )
    return found


def _releases(report: Report) -> Iterator[_List]:
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
    if rows:
        heads = "| Release | Stacks | Before | After | Upstream |\n| --- | --- | --- | --- | --- |\n"
        yield _List(f"### Releases\n\n{heads}", rows, lambda left: f"| … and {len(left)} more | | | | |")


def _section(section: Section) -> str:
    """What changes for some owners, whole."""
    return "\n\n".join([f"### {inline(title(section.owners))}", *map(_group, section.groups)])


def _group(group: Group) -> str:
    number_of = f": {counts(group)}" if group.entries else ""
    parts = [f"**On {inline(listed(group.stacks))}**{number_of}"]
    if group.said:
        parts.append("\n".join(f"- {_sentence(each.sentence)}" for each in group.said))
    for summary in dict.fromkeys(map(keys_title, group.keys)):
        keys = [each for each in group.keys if keys_title(each) == summary]
        lines = diff_lines(keys)
        diff = fenced(lines, "diff")
        is_short = len(lines) <= _OPEN_LINES and keys[0].action is Action.CHANGED
        parts.append(f"{summary}:\n\n{diff}" if is_short else _folded(summary, diff))
    for noise in (False, True):
        if changed := _by_kind(each for each in group.entries if _kind(each)[::2] == (Action.CHANGED, noise)):
            lines = diff_lines(changed)
            diff = fenced(lines, "diff")
            summary = NOISE.capitalize() if noise else "Changed"
            parts.append(diff if len(lines) <= _OPEN_LINES and not noise else _folded(summary, diff))
    for action in (Action.ADDED, Action.REMOVED):
        if found := _by_kind(group.of(action)):
            names = [f"- {code(f'{each.kind} {name}')}" for each in found for name in each.names]
            parts.append(_folded(action.capitalize(), "\n".join(names)))
            if action is Action.ADDED:
                parts.append(_folded(f"{action.capitalize()}, as YAML", fenced(_yaml_lines(found), "yaml")))
    return "\n\n".join(parts)


def _yaml_lines(entries: Sequence[Entry]) -> list[str]:
    found: list[str] = []
    for entry in entries:
        found += [*(["---"] if found else []), f"# {entry.label}", *chain.from_iterable(entry.parts)]
    return found


def _by_kind(entries: Iterable[Entry]) -> list[Entry]:
    """Entries with those of one kind side by side."""
    found: dict[str, list[Entry]] = defaultdict(list)
    for each in entries:
        found[each.kind].append(each)
    return [*chain.from_iterable(found.values())]


def _kind(entry: Entry) -> _Kind:
    return entry.action, entry.kind, entry.noise


def _kinds(group: Group) -> Counter[_Kind]:
    """How many objects and keys of a group change, by kind."""
    found = Counter[_Kind]()
    for entry in group.entries:
        found[_kind(entry)] += len(entry.names)
    for entry in group.keys:
        found[_kind(entry)] += len(entry.parts)
    return found


def _kinds_text(kinds: Mapping[_Kind, int]) -> str:
    found: dict[str, Counter[Action]] = defaultdict(Counter)
    for (action, kind, _), count in kinds.items():
        found[kind][action] += count
    return ", ".join(
        f"{code(kind)} ({', '.join(f'{count} {action}' for action, count in actions.items())})"
        for kind, actions in found.items()
    )


def _folded(summary: str, content: str) -> str:
    """Content that is shown on a click. GitHub reads it as Markdown after an empty line."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _on(stacks: Sequence[str]) -> str:
    return f"**{inline(listed(stacks))}**: "


def _sentence(text: str) -> str:
    return f"{inline(text)}."
