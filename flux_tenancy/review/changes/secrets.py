"""Which secrets of a stack a change rotates, by their keys; their values stay encrypted.

Pulumi encrypts a value anew whenever it is set, so a secret whose encrypted form is the same is the same. The reverse
does not hold: `pulumi config set` with the same value, or another passphrase, gives another form.
"""

from __future__ import annotations

from dataclasses import dataclass

from flux_tenancy.components.config.errors import KeyPath, dotted
from flux_tenancy.components.config.yaml_files import walk
from flux_tenancy.components.stack.files.stack_file import StackFile, is_encrypted
from flux_tenancy.review.changes.objects import Action
from flux_tenancy.review.render.rendered import PLATFORM

_TENANTS = "tenants"


@dataclass(frozen=True)
class SecretChange:
    """A secret that was set, set again, or removed.

    Attributes:
        owner: the tenant that it belongs to, or PLATFORM.
        key: its key in the stack's file, e.g. `tenants.dev-team.source.deployKey`.
        action: CHANGED for a secret that was set again.
        copied: the key that had the same encrypted value before; empty if none had.
    """

    owner: str
    key: str
    action: Action
    copied: str = ""


def secret_changes(before: StackFile | None, after: StackFile | None) -> tuple[SecretChange, ...]:
    """The secrets that differ between two versions of a stack's file, in the order of their keys.

    Args:
        before: the file at the merge base; None for a new stack.
        after: the file now; None for a stack that is gone.
    """
    old, new = _secrets(before), _secrets(after)
    keys = {value: path for path, value in old.items()}
    return tuple(
        SecretChange(_owner(path), dotted(path), _action(old.get(path), value), _copied(path, keys.get(value or "")))
        for path in sorted({*old, *new}, key=dotted)
        for value in [new.get(path)]
        if old.get(path) != value
    )


def _copied(path: KeyPath, earlier: KeyPath | None) -> str:
    """The key that a value comes from; an entry of a list may have moved in it."""
    same = (
        earlier is not None
        and len(path) == len(earlier)
        and all(one == other or {type(one), type(other)} == {int} for one, other in zip(path, earlier, strict=True))
    )
    return "" if earlier is None or same else dotted(earlier)


def _secrets(file: StackFile | None) -> dict[KeyPath, str]:
    if file is None:
        return {}
    found = walk(file.sections, lambda _, each: is_encrypted(each))
    return {path: each["secure"] for path, each in found if is_encrypted(each)}


def _owner(path: KeyPath) -> str:
    return str(path[1]) if len(path) > 1 and path[0] == _TENANTS else PLATFORM


def _action(before: str | None, after: str | None) -> Action:
    if before is None:
        return Action.ADDED
    return Action.REMOVED if after is None else Action.CHANGED
