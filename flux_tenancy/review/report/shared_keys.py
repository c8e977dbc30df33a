"""The changed keys of several stacks and tenants, each said once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.review.changes.fields import Lines, field_lines, masked_names, without_digests
from flux_tenancy.review.changes.keys import KeyChange
from flux_tenancy.review.changes.objects import Action
from flux_tenancy.review.render.rendered import PLATFORM


@dataclass(frozen=True)
class SharedKeys:
    """Keys that change alike for all of these owners in all of these stacks.

    Attributes:
        owners: the tenants, or PLATFORM.
        stacks: the stacks.
        action: ADDED and REMOVED for keys of tenants that are new or gone, of which all keys are.
        files: the files that have them.
        parts: the keys as lines of a diff. Of several owners, `<tenant>` stands for the name; of several stacks or
            owners, stand-ins for secrets have no digests.
    """

    owners: tuple[str, ...]
    stacks: tuple[str, ...]
    action: Action
    files: tuple[str, ...]
    parts: tuple[Lines, ...]


@dataclass(frozen=True)
class _Key:
    """What a change of a key is, in whichever stack; the stack's own file has no name."""

    owner: str
    action: Action
    file: str
    text: str

    @property
    def masked(self) -> _Key:
        """The same for whichever tenant."""
        if self.owner == PLATFORM:
            return self
        return replace(self, owner="", file=_masked(self.file, self.owner), text=_masked(self.text, self.owner))


def shared_keys(changes: Iterable[tuple[str, Action, KeyChange]]) -> Iterator[SharedKeys]:
    """The changed keys by file, owners and stacks.

    Args:
        changes: each with its stack and what happens to its owner there.
    """
    found: dict[_Key, tuple[KeyChange, list[str]]] = {}
    for stack, action, change in changes:
        file = "" if change.file == stack_file_name(stack) else change.file
        key = _Key(change.owner, action, file, without_digests(repr(change.field)))
        found.setdefault(key, (change, []))[1].append(stack)
    alike: dict[tuple[tuple[str, ...], _Key], list[_Key]] = defaultdict(list)
    for key, (_, stacks) in found.items():
        alike[tuple(stacks), key.masked].append(key)
    by_file: dict[tuple[tuple[str, ...], tuple[str, ...], Action, str], list[list[_Key]]] = defaultdict(list)
    for (places, masked), same in alike.items():
        owners = tuple(dict.fromkeys(each.owner for each in same))
        by_file[owners, places, masked.action, masked.file].append(same)
    for (owners, places, action, _), keys in by_file.items():
        own = [stack_file_name(stack) for stack in places]
        files = [file for same in keys for each in same for file in ([each.file] if each.file else own)]
        parts = tuple(_lines(found[same[0]][0], len(owners), len(places)) for same in keys)
        yield SharedKeys(owners, places, action, tuple(dict.fromkeys(files)), parts)


def _lines(change: KeyChange, owners: int, stacks: int) -> Lines:
    lines = field_lines(change.field)
    if owners * stacks > 1:
        lines = tuple(map(without_digests, lines))
    return tuple(_masked(line, change.owner) for line in lines) if owners > 1 else lines


def _masked(text: str, owner: str) -> str:
    return masked_names(text, {owner: "<tenant>"})
