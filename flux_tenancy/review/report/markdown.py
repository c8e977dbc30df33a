"""The report as the comment of a pull request: what matters first, details folded, cut so that every change stays.

Where the whole is too long, each section has its share of the room, and in it each kind of object, each object and each
field (`review.report.room`). What is left out is counted by kind and owner. Nothing ends in the middle of a table or of
code.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from flux_tenancy.review.changes.fields import masked_names
from flux_tenancy.review.changes.objects import Action
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.report.model import Entry, Group, Report, Said, Section
from flux_tenancy.review.report.phrases import (
    NOISE,
    compared,
    counts,
    deleted,
    how_to_acknowledge,
    keys_title,
    number,
    release,
    remarks,
    title,
    to_approve,
    violation,
    waiver,
)
from flux_tenancy.review.report.room import Items, Parts, share, size_of
from flux_tenancy.review.words.escaping import code, fenced, inline
from flux_tenancy.review.words.lists import listed

LIMIT = 60_000
"""Bytes of a comment. GitHub takes 65,536 characters, of which whoever posts it needs some for a marker and links."""
SUMMARY_LIMIT = 1_000_000
"""Bytes of a job summary. GitHub takes 1 MiB of each step.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits
"""
_OPEN_LINES = 12
"""A diff of up to this many lines is not folded."""
_FEW = 3
"""Lines of a field that are worth showing; less is counted."""
_ATTEMPTS = 8
"""How often the room is measured again, since folding and counting take some of it."""
_FOLDED = 90
"""Bytes of what is around a folded block of code, at most."""
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
        whole_at: address of the whole report, for one that is cut; empty if there is none.
    """
    page = _Page(report, whole_at)
    text = page.written(None)
    if _size(text) <= limit:
        return text
    best, room = "", limit
    for _ in range(_ATTEMPTS):
        text = page.written(room)
        left = limit - _size(text)
        if left >= 0 and len(text) > len(best):
            best = text
        if 0 <= left <= limit // 100:
            break
        room += left if left < 0 else left * 3 // 4
    return best or page.written(0)


class _Page:
    """The blocks of a comment.

    Args:
        report: what it says.
        whole_at: address of the whole report; empty if there is none.
    """

    def __init__(self, report: Report, whole_at: str) -> None:
        self._report = report
        self._note = _shortened(report, whole_at)
        self._top = [f"## {inline(report.headline)}", _sentence(compared(report))]
        self._lists = [each for each in _lists(report) if each.lines]
        self._releases = _releases(report)
        objects = _kinds(group for section in report.sections for group in section.groups)
        self._sections = [_Section(each, objects) for each in report.sections]
        platform = [each for each in self._sections if each.owners == (PLATFORM,)]
        by_owner = platform, [each for each in self._sections if each not in platform]
        self._tree = [Parts(each) for each in by_owner if each]
        self._end = _approval(report)

    def written(self, room: int | None) -> str:
        """The comment; whole without a limit, or cut to about this many bytes."""
        whole = room is None
        fixed = [*self._top, *([] if whole else [self._note]), self._releases, self._end]
        free = (
            sum(each.whole for each in (*self._lists, *self._tree)) if room is None else room - _size("  ".join(fixed))
        )
        sections = sum(each.least for each in self._sections)
        further = 0 if whole or sections <= free // 2 else max(free // 10, 0)
        # Risks may take more than their share, but not all of it.
        taken = share(self._lists, free if whole else free * 2 // 3)
        used = share(self._tree, free - taken - further)
        if not whole:
            share(self._lists, free - used - further)
        lists = [each.block() for each in self._lists]
        before = self._lists.index(waivers) if (waivers := self._waivers) else len(lists)
        left_out = [each for each in self._sections if not (each.shown and self._is_in_tree(each))]
        return _joined(
            [
                *fixed[: 2 if whole else 3],
                *lists[:before],
                self._releases,
                *lists[before:],
                *(each.block() for each in self._sections if each not in left_out),
                _further(left_out, further),
                self._end,
            ]
        )

    @property
    def _waivers(self) -> _List | None:
        return next((each for each in self._lists if each.heading == _WAIVERS), None)

    def _is_in_tree(self, section: _Section) -> bool:
        return any(each.shown and section in each.parts for each in self._tree)


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(filter(None, blocks)) + "\n"


def _size(text: str) -> int:
    return len(text.encode())


def _shortened(report: Report, whole_at: str) -> str:
    command = f"`flux-tenancy review diff --base {inline(report.base)}` shows the whole"
    where = f"The whole is in [the summary of the run]({whole_at}), and {command}." if whole_at else f"{command}."
    return (
        "> [!NOTE]\n> This comment is shortened to what GitHub accepts. What is left out is counted by kind and owner. "
        f"{where}"
    )


class _List(Items):
    """A list below a heading.

    Args:
        heading: the heading; empty for none.
        items: the list.
        prefix: what each line begins with.
        order: indexes of the items, in the order in which they are kept; by default the first ones are kept.
    """

    def __init__(self, heading: str, items: Sequence[str], prefix: str = "", order: Sequence[int] = ()) -> None:
        self.heading, self._separator = heading, "\n" if prefix else "\n\n"
        lines = [f"{prefix}- {item}" for item in items]
        super().__init__(lines or [""], lambda left: f"{prefix}- … and {left} more", order, size_of(heading) + 3)
        self.lines = lines

    def block(self) -> str:
        if not self.shown:
            return f"{self.heading}{self._separator}{self.more(len(self.lines))}".strip()
        return f"{self.heading}{self._separator}" * bool(self.heading) + "\n".join(self.text())


_WAIVERS = "### Waivers"


def _lists(report: Report) -> Iterator[_List]:
    yield _List("", [_sentence(text) for text in remarks(report)])
    yield _List(_alert("CAUTION", "Deletions that need an acknowledgement"), _acknowledgements(report), "> ")
    risks = [f"{_on(each.stacks)}{_sentence(each.sentence)}" for each in report.risks]
    yield _List("### Risks", risks, order=_distinct_first(report.risks))
    violations = [f"{_on(stacks)}{_sentence(violation(each))}" for each, stacks in report.violations.items()]
    yield _List("### Violations of the review rules", violations)
    waivers = [f"{_on(stacks)}{_sentence(waiver(each))}" for each, stacks in report.waived.items()]
    yield _List(_WAIVERS, waivers)


def _distinct_first(risks: Sequence[Said]) -> list[int]:
    """The order in which risks are kept: one of each sentence first, whatever names are in it."""
    seen, places = Counter[str](), []
    for index, each in enumerate(risks):
        sentence = _DISTINCT.sub("*", masked_names(each.text, dict.fromkeys(each.owners, "*")))
        places.append((seen[sentence], index))
        seen[sentence] += 1
    return [index for _, index in sorted(places)]


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


class _Section(Parts):
    """What changes for some owners.

    Args:
        section: what changes.
        objects: how many objects there are of each kind of change in the whole report.
    """

    def __init__(self, section: Section, objects: Mapping[_Kind, int]) -> None:
        self.owners, self.section = section.owners, section
        self._heading = f"### {inline(title(section.owners))}"
        self._groups = [_Group(each, objects) for each in section.groups]
        super().__init__(self._groups, size_of(self._heading) + 1)

    def block(self) -> str:
        return "\n\n".join([self._heading, *(each.block() for each in self._groups)])


class _Group(Parts):
    """What changes for some owners in some stacks.

    Args:
        group: what changes.
        objects: how many objects there are of each kind of change in the whole report.
    """

    def __init__(self, group: Group, objects: Mapping[_Kind, int]) -> None:
        self.group = group
        number_of = f": {counts(group)}" if group.entries else ""
        self._where = f"**On {inline(listed(group.stacks))}**{number_of}"
        by_kind: dict[_Kind, list[Entry]] = defaultdict(list)
        for entry in group.entries:
            by_kind[_kind(entry)].append(entry)
        self._diffs = [
            _Bucket(kind, of, (objects[kind],), _Diff) for kind, of in by_kind.items() if kind[0] is Action.CHANGED
        ]
        self._names = [_Names(kind, of, objects[kind]) for kind, of in by_kind.items() if kind[0] is not Action.CHANGED]
        # The whole of an object is worth less than the name of another.
        self._yaml = [
            _Bucket(kind, of, (objects[kind], 1), _Yaml) for kind, of in by_kind.items() if kind[0] is Action.ADDED
        ]
        self._said = [_Sentences(group.said)] if group.said else []
        self._keys = [_Keys(each) for each in group.keys]
        kinds = {(kind[0], kind[2]) for kind in by_kind}
        around = size_of(self._where) + 1 + _FOLDED * (len(kinds) + bool(self._yaml) + bool(self._keys))
        super().__init__([*self._said, *self._keys, *self._diffs, *self._names, *self._yaml], around)

    def left_out(self) -> Counter[_Kind]:
        """How many objects of each kind are neither shown nor counted beside others of their kind."""
        found = _count_keys(each.entry for each in self._keys if not each.shown)
        for bucket in self._diffs:
            found[bucket.kind] += sum(
                number([each.entry]) for each in bucket.diffs if not (each.shown and bucket.shown)
            )
        for names in self._names:
            found[names.kind] += 0 if names.shown else len(names.lines)
        return +found

    def block(self) -> str:
        if not self.shown:
            return f"{self._where}. {_not_shown(_kinds([self.group]))}"
        parts = [self._where, *("\n".join(each.text()) for each in self._said if each.shown)]
        for summary in dict.fromkeys(keys_title(each.entry) for each in self._keys):
            keys = [each for each in self._keys if each.shown and keys_title(each.entry) == summary]
            if keys:
                lines = [line for index, each in enumerate(keys) for line in ([""] * bool(index) + each.text())]
                diff = fenced(lines, "diff")
                is_short = len(lines) <= _OPEN_LINES and keys[0].entry.action is Action.CHANGED
                parts.append(f"{summary}:\n\n{diff}" if is_short else _folded(summary, diff))
        for noise in (False, True):
            diffs = [each for bucket in self._diffs if bucket.kind[2] is noise for each in bucket.chosen()]
            if diffs:
                summary = NOISE.capitalize() if noise else "Changed"
                lines = [line for index, each in enumerate(diffs) for line in ([""] * bool(index) + each.text())]
                diff = fenced(lines, "diff")
                parts.append(diff if len(lines) <= _OPEN_LINES and not noise else _folded(summary, diff))
        for action in (Action.ADDED, Action.REMOVED):
            named = [line for each in self._names if each.kind[0] is action and each.shown for line in each.text()]
            if named:
                parts.append(_folded(action.capitalize(), "\n".join(named)))
            yaml = [each for bucket in self._yaml if action is Action.ADDED for each in bucket.chosen()]
            if yaml:
                all_of = number(self.group.of(action))
                shown = number(each.entry for each in yaml)
                of = "" if shown == all_of else f" ({shown} of {all_of} objects)"
                lines = [line for index, each in enumerate(yaml) for line in (["---"] * bool(index) + each.text())]
                parts.append(_folded(f"{action.capitalize()}, as YAML{of}", fenced(lines, "yaml")))
        return "\n\n".join([*parts, *filter(None, [_not_shown(self.left_out())])])


class _Sentences(Items):
    """The statements about some owners."""

    def __init__(self, said: Sequence[Said]) -> None:
        lines = [f"- {_sentence(each.sentence)}" for each in said]
        super().__init__(lines, lambda left: f"- … and {left} more", beside=1, rank=(0,))


class _Names(Items):
    """The names of objects of one kind that are added or removed."""

    def __init__(self, kind: _Kind, entries: Sequence[Entry], objects: int) -> None:
        self.kind = kind
        named = [(place, entry.kind, name) for entry in entries for place, name in enumerate(entry.names)]
        # One of each that is alike, then the others.
        order = sorted(range(len(named)), key=lambda index: named[index][0])
        lines = [f"- {code(f'{kind} {name}')}" for _, kind, name in named]
        super().__init__(lines, lambda left: f"- … and {left} more of kind {code(kind[1])}", order, rank=(objects,))


class _Object(Parts):
    """An object, with what changes in it or with its content."""

    mark, more = "  ", "field"

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self._lines = [_Lines(part, self.mark) for part in entry.parts if part]
        around = size_of(self._label) + size_of(self._left_out(len(self._lines))) + 4
        super().__init__(self._lines, around, (len(entry.names),))

    @property
    def _label(self) -> str:
        return self.entry.label

    def _left_out(self, left: int) -> str:
        return f"{self.mark}… and {left} more {_plural(self.more, left)}"

    def text(self) -> list[str]:
        """Its lines."""
        shown = [line for each in self._lines if each.shown for line in each.text()]
        left = sum(not each.shown for each in self._lines)
        return [self._label, *shown, *([self._left_out(left)] if left else [])]


class _Diff(_Object):
    """The diff of an object."""


class _Keys(_Object):
    """Keys of a file."""

    more = "key"

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        self.rank = (0,)


class _Yaml(_Object):
    """The content of an object."""

    mark, more = "# ", "key"

    @property
    def _label(self) -> str:
        return f"# {self.entry.label}"


class _Lines(Items):
    """Lines of code."""

    def __init__(self, lines: Sequence[str], mark: str) -> None:
        # As many lines of the old text as of the new one.
        seen = Counter[str]()
        places = []
        for index, line in enumerate(lines):
            places.append((seen[line[:1]] if line[:1] in ("+", "-") else index, index))
            seen[line[:1]] += 1
        order = [index for _, index in sorted(places)]
        super().__init__(lines, lambda left: f"{mark}  … and {left} more {_plural('line', left)}", order, few=_FEW)


class _Bucket(Parts):
    """Objects of one kind with which the same happens."""

    def __init__(self, kind: _Kind, entries: Sequence[Entry], rank: tuple[int, ...], of: type[_Object]) -> None:
        self.kind, self.diffs = kind, [of(entry) for entry in entries]
        super().__init__(self.diffs, 0, rank)

    def chosen(self) -> list[_Object]:
        """The objects that are shown."""
        return [each for each in self.diffs if each.shown] if self.shown else []


def _kind(entry: Entry) -> _Kind:
    return entry.action, entry.kind, entry.noise


def _kinds(groups: Iterable[Group]) -> Counter[_Kind]:
    found = Counter[_Kind]()
    for group in groups:
        for entry in group.entries:
            found[_kind(entry)] += len(entry.names)
        found += _count_keys(group.keys)
    return found


def _count_keys(entries: Iterable[Entry]) -> Counter[_Kind]:
    found = Counter[_Kind]()
    for entry in entries:
        found[_kind(entry)] += len(entry.parts)
    return found


def _not_shown(kinds: Mapping[_Kind, int]) -> str:
    """What is left out, by kind."""
    found: dict[str, Counter[Action]] = {}
    for (action, kind, _), count in kinds.items():
        found.setdefault(kind, Counter())[action] += count
    each = [
        f"{code(kind)} ({', '.join(f'{count} {action}' for action, count in actions.items())})"
        for kind, actions in found.items()
    ]
    return f"Not shown: {', '.join(each)}." if each else ""


def _further(sections: Sequence[_Section], room: int) -> str:
    """What happens to owners that have no section, by kind."""
    owners: dict[tuple[Action, str], list[str]] = defaultdict(list)
    objects, said = Counter[tuple[Action, str]](), list[str]()
    for each in sections:
        for (action, kind, _), count in _kinds(each.section.groups).items():
            owners[action, kind] += each.owners
            objects[action, kind] += count
        said += each.owners * any(group.said for group in each.section.groups)
    lines = {f"- {code(kind)}: {objects[action, kind]} {action}, of": owners[action, kind] for action, kind in owners}
    lines |= {"- Sentences about": said} if said else {}
    if not lines:
        return ""
    parts = [
        Items([f" {inline(name)}," for name in dict.fromkeys(of)], lambda left: f" {left} more", beside=size_of(line))
        for line, of in lines.items()
    ]
    share(parts, room)
    found = [f"{line}{''.join(each.text()).rstrip(',')}." for line, each in zip(lines, parts, strict=True)]
    return "\n".join(["### Further changes", "", *found])


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def _folded(summary: str, content: str) -> str:
    """Content that is shown on a click. GitHub reads it as Markdown after an empty line."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _approval(report: Report) -> str:
    stacks = to_approve(report)
    if not stacks:
        return ""
    commands = [f"flux-tenancy up --stack {each.stack} --approved {each.digest}" for each in stacks]
    folded = _folded("Commands that apply exactly these changes", fenced(commands, "console"))
    return f"### Approve\n\n{folded}"


def _on(stacks: Sequence[str]) -> str:
    return f"**{inline(listed(stacks))}**: "


def _sentence(text: str) -> str:
    return f"{inline(text)}."
