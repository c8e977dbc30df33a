"""Words and Markdown that everything above shares: sentences of a report, lists, tables, text of others made harmless.

Put here what knows nothing of stacks.

GitHub looks for mentions, references and addresses in what Markdown has become, so that no escape of Markdown's stops
them; a space of no width does. In code, they have no effect anyway.

Source: https://github.github.com/gfm/ and
https://docs.github.com/en/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import IO, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flux_tenancy.components.config.messages import printable

PLATFORM = "platform"
"""The owner of every object that belongs to no tenant."""


@dataclass(frozen=True)
class Statement:
    """Something that a change means, as a sentence about an owner; in a report, with everyone that it holds for.

    Attributes:
        owner: the tenant that it is about, or PLATFORM.
        text: plain text without a period. It does not name the stack.
        risk: whether reviewers have to look at it first.
        names_owner: whether the sentence has its own subject, so that it needs no owner in front.
        matters: the way in which the change matters, as `review/changes/risks.yaml` has them; empty for none of these.
        access: of a sentence about access who, what and where, as the cells of a table; empty for any other.
        others: further tenants that it is about in a report.
        stacks: the stacks that it holds for in a report.
    """

    owner: str
    text: str
    risk: bool = False
    names_owner: bool = False
    matters: str = ""
    access: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()

    @property
    def owners(self) -> tuple[str, ...]:
        """All that it is about."""
        return (self.owner, *self.others)

    @property
    def sentence(self) -> str:
        """The sentence with its subject."""
        if self.names_owner:
            return self.text
        if self.owners == (PLATFORM,):
            return f"the platform {self.text}"
        each_of = "each of " if self.others else ""
        return f"{each_of}{listed(self.owners)} {self.text}"


_WORD = re.compile(r"\S*[^\x00-\x7f]\S*")
# Marks of this program's own sentences.
_OWN = "…→"


def with_letters_named(text: str) -> str:
    """A sentence in which each word with letters that are not ASCII is followed by their names.

    `release` with a Cyrillic `а` becomes `releаse (with U+0430 CYRILLIC SMALL LETTER A)`. There is no list of letters
    that look alike: each one that is not ASCII is named.

    Source: https://www.unicode.org/reports/tr39/ describes the confusion; names are those of `unicodedata`.
    """
    return _WORD.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    letters = dict.fromkeys(each for each in found[0] if not each.isascii() and each not in _OWN)
    if not letters:
        return found[0]
    names = ", ".join(f"U+{ord(each):04X} {unicodedata.name(each, '(no name)')}" for each in letters)
    word = found[0].rstrip(",:;)")
    return f"{word} (with {names}){found[0][len(word) :]}"


_NAMED = 5
"""Names in a list that is part of a sentence; the rest is counted."""


def listed(names: Sequence[str], most: int = _NAMED) -> str:
    """Names as a part of a sentence: `a, b and c`, or `a, b and 7 more`."""
    shown, rest = list(names[:most]), len(names) - most
    if rest > 0:
        shown.append(f"{rest} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def counted(items: Iterable[str], noun: str = "", most: int = _NAMED) -> str:
    """Items as a part of a sentence: `a, b and c`, or `a, b and 3 more namespaces`; empty if there are none.

    A single one more than `most` is named, too.
    """
    each = list(items)
    if len(each) <= most + 1:
        return listed(each, most + 1) if each else ""
    return f"{listed(each, most)} {noun}".rstrip()


def fitting(lines: Sequence[str], room: int, more: str, order: Sequence[int] = ()) -> list[str]:
    """The lines that fit into this many bytes; if some do not, a line at the end says what is left out, in addition.

    Args:
        room: bytes of them.
        more: says how many are left out.
        order: indexes of the lines, in the order in which they are kept; by default the first ones are kept.
    """
    kept = set[int]()
    for index in order or range(len(lines)):
        if (size := size_of(lines[index])) <= room:
            room -= size
            kept.add(index)
    left = len(lines) - len(kept)
    return [*(lines[index] for index in sorted(kept)), *([more.format(left)] if left else [])]


def size_of(text: str) -> int:
    """Bytes of a line or a paragraph, with its end."""
    return len(text.encode()) + 1


_BREAK = "\u200b"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!$])")
_ACTIVE = re.compile(r"@|#(?=\d)|\bGH-(?=\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)
_FENCE = "```"


def inline(text: str) -> str:
    """A text in a sentence."""
    text = _MARKDOWN.sub(r"\\\1", printable(text).replace("&", "&amp;"))
    return _ACTIVE.sub(lambda found: f"{found[0]}{_BREAK}", text)


def code(text: str) -> str:
    """A text as code in a sentence; not in a table, where nothing but a backslash that is shown hides a pipe."""
    text = printable(text)
    longest = max(map(len, re.findall("`+", text)), default=0)
    mark = "`" * (longest + 1)
    return f"{mark} {text} {mark}" if longest else f"{mark}{text}{mark}"


def fenced(lines: Sequence[str], language: str = "") -> str:
    """Lines as a block of code, with a fence that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(len(_FENCE), longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


_WIDTH = 160
WIDE = 140
"""Columns from which a table has room for messages; below, these follow it."""


def empty_table(headings: Iterable[str], right: Collection[str] = (), whole: Collection[str] = ()) -> Table:
    """A table without rows.

    Args:
        right: the headings of columns with numbers.
        whole: the headings of columns whose words are not broken, such as times and names.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in headings:
        justify: Literal["left", "right"] = "right" if heading in right else "left"
        table.add_column(heading, overflow="fold", justify=justify, no_wrap=heading in whole)
    return table


def table_of(headings: Iterable[str], rows: Iterable[Iterable[str]], right: Collection[str] = ()) -> Table:
    """A table of plain text, in which square brackets are not markup."""
    table = empty_table(headings, right)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def report_console(file: IO[str] | None = None) -> Console:
    """What prints a report: on a terminal as wide as that, in a file or a pipe wide enough for tables.

    Args:
        file: where to; standard output by default.
    """
    return Console(file=file, width=None if (file or sys.stdout).isatty() else _WIDTH)
