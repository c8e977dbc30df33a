"""The report as the comment of a pull request: what matters first, details folded.

A report that is too long for a comment is shortened to what a reviewer decides by. The whole is in the summary of the
job. Each list ends with the number of lines that are left out, and nothing ends in the middle of a table or of code.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from flux_tenancy.review.changes.fields import masked_names
from flux_tenancy.review.changes.objects import Action
from flux_tenancy.review.report.model import Entry, Report, ReportSection, StackGroup
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
from flux_tenancy.review.words import Statement, code, fenced, fitting, inline, listed, size_of

LIMIT = 60_000
"""Bytes of a comment. GitHub takes 65,536 characters, of which whoever posts it needs some for a marker and links."""
SUMMARY_LIMIT = 1_000_000
"""Bytes of a job summary. GitHub takes 1 MiB of each step.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits
"""
_OPEN_LINES = 12
"""A diff of up to this many lines is not folded."""
_DISTINCT = re.compile(r"\S*[\d/.:_-]\S*")


def as_markdown(report: Report, limit: int = LIMIT, whole_at: str = "") -> str:
    """The report as GitHub's Markdown, with at most this many bytes.

    Everything that the report contains of others is escaped. It has no marker; whoever posts it adds one
    (`extensions.github_bot.report_comment`).

    Args:
        whole_at: address of the whole report, for one that is shortened; empty if there is none.
    """
    top = [f"## {inline(report.headline)}", _sentence(compared(report))]
    first, last = [*_lists(report)], [*_approval(report)]
    tables = [*_releases(report), *(each.text() for each in _waivers(report)), *map(_section, report.sections)]
    whole = _joined([*top, *(each.text() for each in first), *tables, *(each.text() for each in last)])
    if len(whole.encode()) <= limit:
        return whole
    top.append(_shortened(report, whole_at))
    lists = [*first, *last]
    room = limit - size_of(_joined(top)) - sum(each.least for each in lists)
    return _joined([*top, *(each.text(max(room, 0) // len(lists)) for each in lists)])


@dataclass(frozen=True)
class _List:
    """Lines of text with what stands around them.

    Attributes:
        before: what comes before the lines.
        lines: the lines; there is at least one.
        more: says how many are left out.
        after: what comes after the lines.
        order: indexes of the lines, in the order in which they are kept; by default the first ones are kept.
    """

    before: str
    lines: Sequence[str]
    more: str = "- … and {} more"
    after: str = ""
    order: Sequence[int] = ()

    @property
    def least(self) -> int:
        """Bytes that it needs to say how much there is, with an empty line."""
        return size_of(f"{self.before}{self.more.format(len(self.lines))}{self.after}") + 1

    def text(self, room: int | None = None) -> str:
        """All of it, or as much as fits into `least` and this many bytes."""
        lines = self.lines if room is None else fitting(self.lines, room, self.more, self.order)
        return self.before + "\n".join(lines) + self.after


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(blocks) + "\n"


def _shortened(report: Report, whole_at: str) -> str:
    command = f"`flux-tenancy review diff --base {inline(report.base)}` shows the whole"
    where = f"The whole is in [the summary of the run]({whole_at}), and {command}." if whole_at else f"{command}."
    return f"> [!NOTE]\n> This comment is shortened to what GitHub accepts: it does not show what else changes. {where}"


def _lists(report: Report) -> Iterator[_List]:
    """What is said of the whole change; no list is empty."""
    yield from _items("", [_sentence(text) for text in remarks(report)])
    caution = "> [!CAUTION]\n> **Deletions that need an acknowledgement**\n>\n"
    yield from _items(caution, _acknowledgements(report), "> ")
    risks = [f"{_on(each.stacks)}{_sentence(each.sentence)}" for each in report.risks]
    yield from _items("### Risks\n\n", risks, order=_distinct_first(report.risks))
    violations = [f"{_on(stacks)}{_sentence(violation(each))}" for each, stacks in report.violations.items()]
    yield from _items("### Violations of the review rules\n\n", violations)


def _waivers(report: Report) -> Iterator[_List]:
    waivers = [f"{_on(stacks)}{_sentence(waiver(each))}" for each, stacks in report.waived.items()]
    yield from _items("### Waivers\n\n", waivers)


def _approval(report: Report) -> Iterator[_List]:
    commands = [f"flux-tenancy up --stack {each.stack} --approved {each.digest}" for each in to_approve(report)]
    if commands:
        # A name of a stack has no backtick.
        before, after = _folded("Commands that apply exactly these changes", "```console\n|\n```").split("|")
        yield _List(f"### Approve\n\n{before}", commands, "# … and {} more", after)


def _items(before: str, items: Sequence[str], prefix: str = "", order: Sequence[int] = ()) -> Iterator[_List]:
    """A list of sentences, if there are some."""
    if items:
        lines = [f"{prefix}- {item}" for item in items]
        yield _List(before, lines, f"{prefix}- … and {{}} more", order=order)


def _distinct_first(found: Sequence[Statement]) -> list[int]:
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


def _releases(report: Report) -> Iterator[str]:
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
        rows.append(cells)
    if rows:
        yield f"### Releases\n\n{_table(('Release', 'Stacks', 'Before', 'After', 'Upstream'), rows)}"


def _table(headings: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are Markdown already."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *rows))


def _section(section: ReportSection) -> str:
    """What changes for some owners, whole."""
    return "\n\n".join([f"### {inline(title(section.owners))}", *map(_group, section.groups)])


def _group(group: StackGroup) -> str:
    number_of = f": {counts(group)}" if group.entries else ""
    parts = [f"**On {inline(listed(group.stacks))}**{number_of}"]
    if texts := [each.sentence for each in group.said if not each.access]:
        parts.append("\n".join(f"- {_sentence(text)}" for text in texts))
    if rows := [each.access for each in group.said if each.access]:
        parts.append(_table(("Who", "What", "Where"), (map(inline, row) for row in rows)))
    for summary in dict.fromkeys(map(keys_title, group.keys)):
        keys = [each for each in group.keys if keys_title(each) == summary]
        lines = diff_lines(keys)
        diff = fenced(lines, "diff")
        is_short = len(lines) <= _OPEN_LINES and keys[0].action is Action.CHANGED
        parts.append(f"{summary}:\n\n{diff}" if is_short else _folded(summary, diff))
    for noise in (False, True):
        if changed := _by_kind(group.noise if noise else group.of(Action.CHANGED)):
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


def _folded(summary: str, content: str) -> str:
    """Content that is shown on a click. GitHub reads it as Markdown after an empty line."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _on(stacks: Sequence[str]) -> str:
    return f"**{inline(listed(stacks))}**: "


def _sentence(text: str) -> str:
    return f"{inline(text)}."
