"""Shares the room of a comment among its parts, so that no part pushes out another.

The small parts are whole first, and the large ones share what is left evenly. Where there is not room for a piece of
each, the parts with a rare change come first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


class Part:
    """Something that needs room.

    Attributes:
        least: bytes that it needs to say anything.
        whole: bytes that it needs to say everything.
        rank: what comes first where there is not room for all; the lowest does.
        shown: whether it has got any.
    """

    least: int
    whole: int
    rank: tuple[int, ...] = ()
    shown = False

    def fill(self, room: int) -> int:
        """Take room, at least `least` bytes of it; returns how much."""
        raise NotImplementedError


@dataclass(eq=False)
class Items(Part):
    """Lines of text that are cut line by line, with the number of those that are left out.

    Attributes:
        lines: all of them.
        more: the line that counts what is left out.
        order: indexes of the lines, in the order in which they are kept; by default the first ones are kept.
        beside: bytes of what is around them.
        few: how many of them make sense by themselves.
        kept: the indexes of the lines that are shown.
    """

    lines: Sequence[str]
    more: Callable[[int], str]
    order: Sequence[int] = ()
    beside: int = 0
    few: int = 1
    rank: tuple[int, ...] = ()
    kept: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self._sizes = [size_of(line) for line in self.lines]
        self.whole = self.beside + sum(self._sizes)
        first = sum(self._sizes[index] for index in (self.order or range(len(self.lines)))[: self.few])
        self.least = min(self.whole, self.beside + first + self._left_out)

    @property
    def _left_out(self) -> int:
        return size_of(self.more(len(self.lines)))

    def fill(self, room: int) -> int:
        if room >= self.whole:
            self.kept = frozenset(range(len(self.lines)))
            return self.whole
        used, kept = self.beside + self._left_out, set[int]()
        for index in self.order or range(len(self.lines)):
            if used + self._sizes[index] > room:
                break
            used += self._sizes[index]
            kept.add(index)
        self.kept = frozenset(kept)
        return used

    def text(self) -> list[str]:
        """The lines that are shown."""
        found = [line for index, line in enumerate(self.lines) if index in self.kept]
        left = len(self.lines) - len(found)
        return [*found, self.more(left)] if left else found


@dataclass(eq=False)
class Parts(Part):
    """Parts that share their room.

    Attributes:
        parts: those that matter most to least by their rank.
        beside: bytes of what is around them.
    """

    parts: Sequence[Part]
    beside: int = 0
    rank: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        self.whole = self.beside + sum(each.whole for each in self.parts)
        first = min(self.parts, key=_urgency, default=None)
        self.least = self.beside + (first.least if first else 0)
        self.rank = self.rank or (first.rank if first else ())

    def fill(self, room: int) -> int:
        return self.beside + share(self.parts, room - self.beside)


def share(parts: Sequence[Part], room: int) -> int:
    """Give each part its share of the room; returns how much of it is used."""
    used, waiting = 0, sorted(parts, key=_urgency)
    for each in parts:
        each.shown = False
    while waiting:
        free, chosen = room - used, list[Part]()
        for each in waiting:
            if each.least <= free:
                free -= each.least
                each.shown = True
                chosen.append(each)
        if not chosen:
            break
        waiting = [each for each in waiting if not each.shown]
        for index, each in enumerate(sorted(chosen, key=lambda part: part.whole - part.least)):
            taken = each.fill(each.least + free // (len(chosen) - index))
            free -= taken - each.least
            used += taken
    return used


def size_of(text: str) -> int:
    """Bytes of a line or a paragraph, with its end."""
    return len(text.encode()) + 1


def _urgency(part: Part) -> tuple[tuple[int, ...], int]:
    return part.rank, part.whole
