"""What decides about an update and is neither an object nor a key.

These are the program and its packages, workflows, and a kubeconfig in Git.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from flux_tenancy.review.changes.objects import ABSENT, FieldChange, field_changes
from flux_tenancy.review.render.facts import KUBECONFIG, PACKAGES, PROGRAM, WORKFLOWS
from flux_tenancy.review.render.rendered import PLATFORM, Render
from flux_tenancy.review.words import Statement, listed


def fact_changes(before: Render, after: Render) -> tuple[FieldChange, ...]:
    """The facts that differ; none if one of the programs did not record them.

    Facts that repeat keys are left out (`review.changes.keys`).
    """
    if before.facts is None or after.facts is None:
        return ()
    both = [
        {name: found[name] for name in (PROGRAM, PACKAGES, KUBECONFIG, WORKFLOWS) if name in found}
        for found in (before.facts, after.facts)
    ]
    return tuple(field_changes(*both))


def is_of_project(change: FieldChange) -> bool:
    """Whether a fact is the same for all stacks of the project, unlike the kubeconfig that one of them names."""
    return change.path[0] != KUBECONFIG


def fact_statements(changes: Iterable[FieldChange]) -> Iterator[Statement]:
    """What differs, one sentence about the program, and one about the kubeconfig, which may name another cluster."""
    by_fact: dict[str, list[FieldChange]] = {}
    for each in changes:
        by_fact.setdefault(str(each.path[0]), []).append(each)
    program = [*(str(each.path[-1]) for each in by_fact.get(PROGRAM, ())), *map(_package, by_fact.get(PACKAGES, ()))]
    if program:
        yield Statement(PLATFORM, f"the program differs: {listed(program)}", names_owner=True)
    if WORKFLOWS in by_fact:
        names = listed([str(path) for each in by_fact[WORKFLOWS] for path in _paths(each)])
        yield Statement(
            PLATFORM, f"who approves changes, or how they are applied, may differ: {names}", risk=True, names_owner=True
        )
    if KUBECONFIG in by_fact:
        text = "the kubeconfig in the repository has other content, so the cluster or the access to it may be another"
        yield Statement(PLATFORM, text, risk=True, names_owner=True)


def _paths(change: FieldChange) -> Iterator[str]:
    """The files of a change; the first or last one changes them all."""
    if len(change.path) > 1:
        yield str(change.path[-1])
        return
    for each in (change.before, change.after):
        yield from each if isinstance(each, Mapping) else ()


def _package(change: FieldChange) -> str:
    old, new = ("none" if each is ABSENT else str(each).lstrip("=") for each in (change.before, change.after))
    return f"{change.path[-1]} {old} -> {new}"
