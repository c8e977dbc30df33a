"""The report for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from flux_tenancy.components.config.messages import printable
from flux_tenancy.review.changes.objects import Action
from flux_tenancy.review.report import phrases
from flux_tenancy.review.report.model import Report, StackGroup
from flux_tenancy.review.words import listed

_STYLES = {"+": "green", "-": "red"}
# Columns of who and where; what they may do has the others.
_WHO, _WHERE = 46, 28


def as_text(report: Report) -> RenderableType:
    """The report for a terminal, without anything left out but noise."""
    return Lines(*_parts(report))


def _parts(report: Report) -> Iterator[RenderableType]:
    yield Text(printable(report.headline), style="bold")
    yield _sentence(phrases.compared(report))
    yield from (_item(text) for text in phrases.remarks(report))
    for each in report.missing_acknowledgements:
        entry, file = phrases.how_to_acknowledge(each)
        yield _heading(f"{phrases.title((each.owner,))} on {each.stack} needs an acknowledgement", "bold red")
        yield _item(phrases.deleted(each))
        yield _item(f"to accept this, add {entry} to review.acknowledge in {file}")
    yield from _on_stacks("Risks", "bold red", ((each.stacks, each.sentence) for each in report.risks))
    violations = ((stacks, phrases.violation(each)) for each, stacks in report.violations.items())
    yield from _on_stacks("Violations of the review rules", "bold red", violations)
    yield from _on_stacks("Waivers", "bold", ((stacks, phrases.waiver(each)) for each, stacks in report.waived.items()))
    if report.releases:
        yield _heading("Releases")
        for change, stacks in report.releases.items():
            before, after = phrases.release(change.before), phrases.release(change.after)
            yield _item(f"{change.title} on {listed(stacks)}: {before} -> {after}")
            yield from (_item(address, 4) for address in (change.changelog, change.commits) if address)
    for section in report.sections:
        yield _heading(phrases.title(section.owners))
        for group in section.groups:
            yield from _group(group)
    if digests := phrases.to_approve(report):
        yield _heading("Approve")
        yield from (_item(f"flux-tenancy up --stack {each.stack} --approved {each.digest}") for each in digests)


def _group(group: StackGroup) -> Iterator[RenderableType]:
    yield _item(f"on {listed(group.stacks)}" + (f": {phrases.counts(group)}" if phrases.counts(group) else ""))
    yield from (_item(each.sentence, 4) for each in group.said if not each.access)
    if rows := [each.access for each in group.said if each.access]:
        yield _access(rows)
    for entry in group.keys:
        yield _item(f"{phrases.keys_title(entry)} in {entry.label}:", 4)
        yield from (_line(line) for part in entry.parts for line in part)
    for action, mark in ((Action.ADDED, "+"), (Action.REMOVED, "-")):
        yield from (_line(printable(f"{mark} {each.kind} {name}")) for each in group.of(action) for name in each.names)
    yield from (_line(line) for line in phrases.diff_lines(group.of(Action.CHANGED)))


def _on_stacks(title: str, style: str, found: Iterable[tuple[Sequence[str], str]]) -> Iterator[RenderableType]:
    """Sentences below the stacks that they are about."""
    by_stacks: dict[str, list[str]] = {}
    for stacks, text in found:
        by_stacks.setdefault(listed(stacks), []).append(text)
    for names, texts in by_stacks.items():
        yield _heading(f"{title} on {names}", style)
        yield from (_item(f"- {text}") for text in texts)


def _access(rows: Iterable[Sequence[str]]) -> Table:
    """Who may do what, and where."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(width=2)
    for width in (_WHO, None, _WHERE):
        table.add_column(overflow="fold", max_width=width)
    for row in rows:
        table.add_row("", *(Text(printable(cell)) for cell in row))
    return table


def _heading(text: str, style: str = "bold") -> Text:
    return Text(f"\n{printable(text)}", style=style)


def _sentence(text: str) -> Text:
    return Text(f"{printable(text)}.")


def _item(text: str, indent: int = 2) -> Text:
    return Text(" " * indent + printable(text))


def _line(text: str) -> Text:
    """A line of a diff, whose parts are printable already."""
    return Text(f"    {text}".rstrip(), style=_STYLES.get(text[:1], ""))
