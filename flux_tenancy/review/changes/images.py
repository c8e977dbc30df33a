"""The images that containers run after a change, and before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from flux_tenancy.review.changes.fields import label
from flux_tenancy.review.changes.objects import ABSENT, Action, FieldChange, ObjectChange
from flux_tenancy.review.words.statement import Statement

_LISTS = frozenset({"containers", "initContainers"})
_IMAGE = "image"


def image_changes(changes: Iterable[ObjectChange]) -> Iterator[Statement]:
    """A sentence for each container of a changed object that runs another image.

    Args:
        changes: what differs in a stack.
    """
    for change in changes:
        if change.action is Action.CHANGED:
            for field in change.fields:
                if (found := _image(field)) and found[1] != found[2]:
                    container, before, after = found
                    what = f"container {container} of {label(change.object)}"
                    text = f"{what} runs {after} instead of {before}" if before else f"{what} is new and runs {after}"
                    yield Statement(change.object.owner, text, names_owner=True)


def _image(field: FieldChange) -> tuple[str, str, str] | None:
    """The container whose image a field decides, with its image before and after."""
    *_, parent, container, last = ("", "", *field.path)
    if last == _IMAGE and parent in _LISTS:
        before, after = ("" if value is ABSENT else str(value) for value in (field.before, field.after))
    elif container in _LISTS and field.before is ABSENT and isinstance(field.after, Mapping):
        container, before, after = last, "", str(field.after.get(_IMAGE, ""))
    else:
        return None
    return (str(container).strip("[]"), before, after) if after else None
