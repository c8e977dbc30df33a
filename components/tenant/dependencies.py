"""The order of what depends on each other: a tenant's syncs, or its releases."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter

Dependencies = Mapping[str, Collection[str]]
"""Name -> the names that it depends on."""


def in_order(dependencies: Dependencies) -> list[str]:
    """All names, each after those that it depends on; names that are only depended on are left out.

    Raises:
        graphlib.CycleError: there is a circle; the checks of the stack report it first.
    """
    known = {name: [each for each in needed if each in dependencies] for name, needed in dependencies.items()}
    return list(TopologicalSorter(known).static_order())


def circle(dependencies: Dependencies) -> list[str]:
    """A circle, e.g. `[a, b, a]` where a depends on b and b on a; empty if there is none."""
    try:
        in_order(dependencies)
    except CycleError as error:
        # The sorter lists each name before those that depend on it.
        found: list[str] = error.args[1][::-1]
        # Begins with the first in alphabetical order, so that a message does not change by itself.
        first = found.index(min(found))
        return [*found[first:-1], *found[: first + 1]]
    return []
