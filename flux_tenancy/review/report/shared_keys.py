"""The changed keys of several stacks and tenants, each said once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from flux_tenancy.components.stack.files.names import stack_file_name, tenant_file_name
from flux_tenancy.review.changes.fields import TENANT, Lines, field_lines, masked_key, without_digests
from flux_tenancy.review.changes.keys import KeyChange
from flux_tenancy.review.changes.objects import Action
from flux_tenancy.review.render.rendered import PLATFORM

SharedKeys = tuple[tuple[str, ...], tuple[str, ...], Action, tuple[str, ...], tuple[Lines, ...]]
"""Keys that change alike: their owners, their stacks, what happens, their files, and the keys as lines of a diff.

ADDED and REMOVED are for tenants that are new or gone, of which all keys are. Of several owners, `<tenant>` stands for
the name; of several stacks or owners, stand-ins for secrets have no digests.
"""
_Change = tuple[str, Action, str, str]
"""Owner, action, file and text of a changed key, in whichever stack; the stack's own file has no name."""


def shared_keys(changes: Iterable[tuple[str, Action, KeyChange]]) -> Iterator[SharedKeys]:
    """The changed keys by file, owners and stacks.

    Args:
        changes: each with its stack and what happens to its owner there.
    """
    found: dict[_Change, tuple[KeyChange, list[str]]] = {}
    for stack, action, change in changes:
        file = "" if change.file == stack_file_name(stack) else change.file
        key = change.owner, action, file, without_digests(repr(change.field))
        found.setdefault(key, (change, []))[1].append(stack)
    alike: dict[tuple[tuple[str, ...], _Change], list[_Change]] = defaultdict(list)
    for key, (change, stacks) in found.items():
        alike[tuple(stacks), _masked(key, change)].append(key)
    by_file: dict[tuple[tuple[str, ...], tuple[str, ...], Action, str], list[list[_Change]]] = defaultdict(list)
    for (places, (_, action, file, _)), same in alike.items():
        owners = tuple(dict.fromkeys(owner for owner, *_ in same))
        by_file[owners, places, action, file].append(same)
    for (owners, places, action, _), keys in by_file.items():
        own = [stack_file_name(stack) for stack in places]
        files = [each for same in keys for _, _, file, _ in same for each in ([file] if file else own)]
        parts = tuple(_lines(found[same[0]][0], len(owners), len(places)) for same in keys)
        yield owners, places, action, tuple(dict.fromkeys(files)), parts


def _masked(key: _Change, change: KeyChange) -> _Change:
    """A changed key as it is for whichever tenant."""
    owner, action, file, _ = key
    if owner == PLATFORM:
        return key
    file = TENANT if file == tenant_file_name(owner) else file
    return "", action, file, repr(masked_key(change.field, owner))


def _lines(change: KeyChange, owners: int, stacks: int) -> Lines:
    lines = field_lines(masked_key(change.field, change.owner) if owners > 1 else change.field)
    return tuple(map(without_digests, lines)) if owners * stacks > 1 else lines
