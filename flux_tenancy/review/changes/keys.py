"""Which keys of a stack's files differ between two versions, as they are written, each with its values.

Whatever is written otherwise is here, whether or not a sentence explains it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flux_tenancy.components.config.printable import HIDDEN, without_passwords
from flux_tenancy.components.config.sealed import SealedText
from flux_tenancy.components.engine.project import PROJECT_FILE
from flux_tenancy.components.stack.files.names import tenant_file_name
from flux_tenancy.components.stack.files.secrets import takes_a_secret
from flux_tenancy.review.changes.objects import ABSENT, FieldChange, field_changes
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.render.written import Written

_TENANTS = "tenants"

_Path = tuple[str | int, ...]


@dataclass(frozen=True)
class KeyChange:
    """A key that was added, changed or removed.

    Attributes:
        file: the file that has it, relative to the project's folder.
        owner: the tenant that it belongs to, or PLATFORM.
        field: its path in the file, and its values, of which no secret is in plain text. This project's keys of the
            stack's file have no `config` and no name of the project in front.
    """

    file: str
    owner: str
    field: FieldChange

    @property
    def path(self) -> _Path:
        """Its path in the configuration of the stack."""
        is_base = self.owner != PLATFORM and self.file == tenant_file_name(self.owner)
        return (_TENANTS, self.owner, *self.field.path) if is_base else self.field.path


def key_changes(before: Written, after: Written) -> tuple[KeyChange, ...]:
    """The keys that differ between two versions of a stack, in the order of their files and paths.

    Args:
        before: the files at the merge base.
        after: the files now.
    """
    return tuple(_key_changes(before, after))


def _key_changes(before: Written, after: Written) -> Iterator[KeyChange]:
    yield from _in_file(after.file, {**before.sections, **before.others}, {**after.sections, **after.others})
    yield from _in_file(PROJECT_FILE, before.project, after.project)
    for name in sorted({*before.tenants, *after.tenants}):
        bases = before.tenants.get(name, {}), after.tenants.get(name, {})
        yield from _in_file(tenant_file_name(name), *bases, at=(_TENANTS, name))
    for file in sorted({*before.known_hosts, *after.known_hosts}):
        yield from _in_file(file, before.known_hosts.get(file, []), after.known_hosts.get(file, []))


def _in_file(file: str, before: Any, after: Any, at: _Path = ()) -> Iterator[KeyChange]:
    """The keys of one file.

    Args:
        file: its name.
        before: its content.
        after: its content.
        at: where that is in the configuration of a stack.
    """
    for change in field_changes(before, after):
        for field in _leaves(change):
            path = (*at, *field.path)
            owner = str(path[1]) if len(path) > 1 and path[0] == _TENANTS else PLATFORM
            values = (_readable(path, value) for value in (field.before, field.after))
            yield KeyChange(file, owner, FieldChange(field.path, *values))


def _leaves(change: FieldChange) -> Iterator[FieldChange]:
    """Of a mapping that is added or removed, what is in it."""
    both = change.before, change.after
    if ABSENT in both and (found := next(each for each in both if each is not ABSENT)) and isinstance(found, Mapping):
        for key, value in found.items():
            values = (ABSENT, value) if change.before is ABSENT else (value, ABSENT)
            yield from _leaves(FieldChange((*change.path, str(key)), *values))
    else:
        yield change


def _readable(path: _Path, value: Any) -> Any:
    """A value without secrets in plain text. Encrypted ones are stand-ins already."""
    if isinstance(value, Mapping):
        return {key: _readable((*path, key), each) for key, each in value.items()}
    if isinstance(value, list):
        return [_readable((*path, index), each) for index, each in enumerate(value)]
    if not isinstance(value, str):
        return value
    if takes_a_secret(path) and not isinstance(value, SealedText):
        return HIDDEN
    return without_passwords(value)
