"""Objects that an update does not change but replaces: it deletes the object and creates it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from flux_tenancy.review.changes.objects import Action, ObjectChange
from flux_tenancy.review.changes.risks import immutable
from flux_tenancy.review.words.statement import Statement

_IDENTITY = ("metadata.name", "metadata.namespace")


def immutable_fields(change: ObjectChange) -> tuple[str, ...]:
    """The changed fields because of which an object is replaced; empty if it is not."""
    if change.action is not Action.CHANGED:
        return ()
    fields = (*_IDENTITY, *immutable(change.object.type).get("fields", ()))
    changed = [field.name for field in change.fields]
    return tuple(
        key for key in fields if any(name == key or name.startswith((f"{key}.", f"{key}[")) for name in changed)
    )


def replacement_risks(changes: Iterable[ObjectChange]) -> Iterator[Statement]:
    """A risk for each kind of object whose replacement loses something.

    Args:
        changes: what differs in a stack.
    """
    found = Counter[tuple[str, str, str, tuple[str, ...]]]()
    for change in changes:
        loses = immutable(change.object.type).get("loses")
        if loses and (fields := immutable_fields(change)):
            found[change.object.owner, change.object.kind, loses, fields] += 1
    for (owner, kind, loses, fields), count in found.items():
        what = f"a {kind}" if count == 1 else f"{count} objects of kind {kind}"
        text = f"replaces {what}, because {' and '.join(fields)} cannot change: {loses}"
        yield Statement(owner, text, risk=True, matters="protection")
