"""What a setting allows tenants, in words that stand beside the setting itself: reviewers read them after `may`.

A setting without words is shown by its key and its values: words explain a change and never decide whether it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


def _same(value: Any) -> Iterable[str]:
    entries: Iterable[str] = value
    return entries


@dataclass(frozen=True)
class Allows:
    """A list of what tenants may use, or a flag for the only thing.

    Attributes:
        each: words for entries, which replace `{}`.
        anything: words for no restriction: `*` in the list, or no list. Without them, `*` is an entry like others.
        own: the annotation of a namespace with further entries of its tenant, or with its own flag, which replaces
            this one; empty if a tenant has none.
        forbidden_of: everything, of which the entries are forbidden; None if they are allowed.
        empty_is_anything: whether an empty list allows anything.
        always: entries that are allowed without the list.
        unset: what no list allows instead of anything: words, and whether it includes an entry.
        read: the entries of the setting's value, as a tenant's own are written.
    """

    each: str
    anything: str = ""
    own: str = ""
    forbidden_of: frozenset[str] | None = None
    empty_is_anything: bool = False
    always: frozenset[str] = frozenset()
    unset: tuple[str, Callable[[str], bool]] | None = None
    read: Callable[[Any], Iterable[str]] = field(default=_same)


@dataclass(frozen=True)
class Bounds:
    """A duration or a number that tenants may not pass.

    Attributes:
        wider: words for a bound that allows more; `{}` is the new bound.
        narrower: the same for one that allows less.
        least: whether it is the smallest that is allowed instead of the largest.
        own: the annotation of a namespace with the bound of its tenant, which replaces this one; empty if a tenant has
            none.
    """

    wider: str
    narrower: str
    unit: str = ""
    least: bool = False
    own: str = ""


@dataclass(frozen=True)
class SeenOtherwise:
    """A setting that allows tenants nothing; what it changes is told from the objects, as the mode of a policy is."""


Words = Allows | Bounds | SeenOtherwise
