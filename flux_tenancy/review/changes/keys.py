"""Which keys, secrets and releases of a stack's files differ between two versions, as they are written.

Whatever is written otherwise is here, whether or not a sentence explains it. Secrets stay encrypted: Pulumi encrypts a
value anew whenever it is set, so a secret whose encrypted form is the same is the same. The reverse does not hold:
`pulumi config set` with the same value, or another passphrase, gives another form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flux_tenancy.components.config.errors import KeyPath, dotted
from flux_tenancy.components.config.messages import HIDDEN, without_passwords
from flux_tenancy.components.config.types import SealedText
from flux_tenancy.components.config.yaml_files import walk
from flux_tenancy.components.engine import PROJECT_FILE
from flux_tenancy.components.installs.capsule import CAPSULE
from flux_tenancy.components.installs.flux.release import FLUX
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.installs.product import Product, parse_version
from flux_tenancy.components.stack.files.project import stack_file_name, tenant_file_name
from flux_tenancy.components.stack.files.secrets import takes_a_secret
from flux_tenancy.components.stack.files.stack_file import StackFile, is_encrypted
from flux_tenancy.review.changes.fields import TENANT, Lines, field_lines, masked_key, without_digests
from flux_tenancy.review.changes.objects import ABSENT, Action, FieldChange, field_changes
from flux_tenancy.review.render.facts import Written
from flux_tenancy.review.render.rendered import PLATFORM

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
    """The keys that differ between two versions of a stack, in the order of their files and paths."""
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
        at: where that is in the configuration of a stack.
    """
    for change in field_changes(before, after):
        for field in _leaves(change):
            path = (*at, *field.path)
            values = (_readable(path, value) for value in (field.before, field.after))
            yield KeyChange(file, _owner(path), FieldChange(field.path, *values))


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
        alike[tuple(stacks), _masked_change(key, change)].append(key)
    by_file: dict[tuple[tuple[str, ...], tuple[str, ...], Action, str], list[list[_Change]]] = defaultdict(list)
    for (places, (_, action, file, _)), same in alike.items():
        owners = tuple(dict.fromkeys(owner for owner, *_ in same))
        by_file[owners, places, action, file].append(same)
    for (owners, places, action, _), keys in by_file.items():
        own = [stack_file_name(stack) for stack in places]
        files = [each for same in keys for _, _, file, _ in same for each in ([file] if file else own)]
        parts = tuple(_shared_lines(found[same[0]][0], len(owners), len(places)) for same in keys)
        yield owners, places, action, tuple(dict.fromkeys(files)), parts


def _masked_change(key: _Change, change: KeyChange) -> _Change:
    """A changed key as it is for whichever tenant."""
    owner, action, file, _ = key
    if owner == PLATFORM:
        return key
    file = TENANT if file == tenant_file_name(owner) else file
    return "", action, file, repr(masked_key(change.field, owner))


def _shared_lines(change: KeyChange, owners: int, stacks: int) -> Lines:
    lines = field_lines(masked_key(change.field, change.owner) if owners > 1 else change.field)
    return tuple(map(without_digests, lines)) if owners * stacks > 1 else lines


_PRODUCTS = {each.name: each for each in (FLUX, KYVERNO, CAPSULE)}


@dataclass(frozen=True)
class Release:
    """A release as a stack pins it.

    Attributes:
        version: e.g. `2.9.5`.
        sha256: digest of its manifest or chart.
    """

    version: str
    sha256: str


@dataclass(frozen=True)
class ReleaseChange:
    """A release that differs.

    Attributes:
        section: its section of the stack's file.
        before: the release at the merge base; None where it is installed for the first time.
        after: the release now; None where it is removed.
    """

    section: str
    before: Release | None
    after: Release | None

    @property
    def title(self) -> str:
        """What upstream calls it."""
        return self._product.title

    @property
    def is_downgrade(self) -> bool:
        """Whether the version is older than before."""
        if self.before is None or self.after is None:
            return False
        return parse_version(self.after.version) < parse_version(self.before.version)

    @property
    def is_replaced(self) -> bool:
        """Whether the version is the same, but what is behind it is not."""
        return self.before is not None and self.after is not None and self.after.version == self.before.version

    @property
    def danger(self) -> str:
        """What is wrong with the change, without its title; empty for an upgrade, an installation and a removal.

        The content of a release does not always say its version, which decides about flags.
        """
        if self.before is None or self.after is None:
            return ""
        if self.is_downgrade:
            return f"is downgraded to {self.after.version}"
        if self.is_replaced:
            return "has the same version, but another digest"
        is_same = self.after.sha256 and self.after.sha256 == self.before.sha256
        return "has another version, but the same digest" if is_same else ""

    @property
    def changelog(self) -> str:
        """The address where upstream says what is new in the release; empty where nothing is."""
        return self._product.changelog(self.after.version) if self.after and not self.is_replaced else ""

    @property
    def commits(self) -> str:
        """The address with every change between both releases; empty unless it is an upgrade."""
        if self.before is None or self.after is None or self.is_replaced or self.is_downgrade:
            return ""
        return f"{self._product.repository}/compare/v{self.before.version}...v{self.after.version}"

    @property
    def _product(self) -> Product:
        return _PRODUCTS[self.section]


def release_changes(before: StackFile | None, after: StackFile | None) -> tuple[ReleaseChange, ...]:
    """The releases that differ between two versions of a stack's file.

    Args:
        before: the file at the merge base; None for a new stack.
        after: the file now; None for a stack that is gone.
    """
    found = []
    for section in _PRODUCTS:
        old, new = _release(before, section), _release(after, section)
        if old != new:
            found.append(ReleaseChange(section, old, new))
    return tuple(found)


def _release(file: StackFile | None, section: str) -> Release | None:
    if file is None:
        return None
    values = {key: value for key in ("version", "sha256") if (value := file.at((section, key))) is not None}
    return Release(str(values["version"]), str(values.get("sha256", ""))) if "version" in values else None
