"""What in the cluster differs from what the last update has applied, as plain data.

Each object of the stack is compared field by field with its copy in the state: only fields that Pulumi's field manager
has applied, so a default of the API server or a controller's status is no difference. The state has the values as the
API server stored them, so no dry run is needed to know how it writes a quantity, and reading is enough.

A refresh overwrites that copy with what it finds, also where somebody else has written a field of the stack. The inputs
of the resource still have such a field, which shows whose it is; its value is no longer known.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from flux_tenancy.components.installs.capsule.objects import CREATED_BY_LABEL
from flux_tenancy.components.installs.kyverno.objects import MANAGED_BY_LABEL
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.operations.managed_fields import MISSING, Manager, Path, managers, normalized, shown, value_at
from flux_tenancy.operations.recorded_state import Recorded, is_sealed

HIDDEN = "(secret)"

# Metadata that controllers, clouds and people add to any object, and that neither grants nor refuses anything.
_FREE_METADATA = frozenset({"f:annotations", "f:labels", "f:finalizers"})
# Set by `kubectl rollout restart`.
_RESTARTED_AT = "f:kubectl.kubernetes.io/restartedAt"
_METADATA = "f:metadata"
# `kubectl scale` takes this field from its owner, and need not become one.
_REPLICAS = ("f:spec", "f:replicas")
_SECRET = "Secret"
_FILLED_IN = frozenset({"f:webhooks", "f:rules", "f:subjects"})


class What(StrEnum):
    """In which way the cluster differs."""

    MISSING = "missing"
    CHANGED = "changed"
    ADDED = "added"
    FOREIGN = "foreign"
    LEFT = "left"


@dataclass(frozen=True)
class Difference:
    """One difference between the cluster and the stack.

    Attributes:
        what: MISSING and CHANGED: an object, or a field of it, that the stack has applied. ADDED: a field of such an
            object that the stack does not set. FOREIGN: an object of nobody that grants something in a namespace of
            the stack. LEFT: an object that the stack has applied once and no longer knows.
        kind: kind of the object.
        namespace: its namespace; empty for a cluster-scoped object.
        name: its name.
        field: the field, e.g. `spec.replicas`; empty for a whole object.
        stack: the value in the stack, MISSING if it sets none; HIDDEN for a secret.
        cluster: the value in the cluster, MISSING if there is none; HIDDEN for a secret.
        by: the field manager that has made the difference; empty if the cluster does not record it.
        since: when that manager last wrote to the object, as an RFC 3339 time in UTC; empty if it is not recorded.
        urn: the resource; empty for FOREIGN and LEFT.
    """

    what: What
    kind: str
    namespace: str
    name: str
    field: str = ""
    stack: Any = MISSING
    cluster: Any = MISSING
    by: str = ""
    since: str = ""
    urn: str = ""


def missing(recorded: Recorded) -> Difference:
    """That an object of the stack does not exist; Kubernetes does not record who has deleted it."""
    return _of(recorded, What.MISSING)


def differences(recorded: Recorded, found: Manifest) -> Iterator[Difference]:
    """The differences of one object.

    Args:
        recorded: the object in the state.
        found: the object in the cluster; of a Secret, only the metadata.
    """
    others, still = _others(recorded, found), _own(recorded, found)
    taken = taken_fields(recorded)
    ours = _own(recorded, recorded.manifest)
    added = list(_added(recorded, ours | taken | still, others))
    reported: set[Path] = set()
    for path in sorted({*_changed(recorded, found, ours, still), *(taken - still)}):
        if path in reported:
            continue
        reported.add(path)
        inside = [each for each in added if each[: len(path)] == path]
        stack, cluster = _values(recorded, found, path)
        yield _of(recorded, What.CHANGED, shown(path), stack, cluster, _author(others, inside or (path,)))
    for path in added:
        if not any(path[: len(each)] == each for each in reported):
            _, cluster = _values(recorded, found, path)
            yield _of(recorded, What.ADDED, shown(path), MISSING, cluster, _author(others, (path,)))


def foreign_fields(recorded: Recorded, applied: Manifest) -> list[Path]:
    """The fields of an object, right after Pulumi's field manager has applied it, that only others have written."""
    return list(_added(recorded, _own(recorded, applied), _others(recorded, applied)))


def taken_fields(recorded: Recorded) -> frozenset[Path]:
    """The fields of the stack that others had written when a refresh has copied the object into the state."""
    by_others = {
        path
        for each in _others(recorded, recorded.manifest)
        if not each.subresource
        for path in each.fields
        # Of metadata, what the stack sets is its own, too, such as the labels of Pod Security.
        if path[0] == _METADATA or not _is_expected(recorded, path)
    }
    ours = _own(recorded, recorded.manifest)
    return frozenset(path for path in {*by_others, _REPLICAS} - ours if _is_input(recorded, path))


def unowned(what: What, kind: str, found: Manifest) -> Difference:
    """That an object exists which the stack does not have."""
    metadata = found["metadata"]
    entries = managers(found)
    last = max(entries, key=lambda each: each.time) if entries else None
    return Difference(
        what,
        kind,
        metadata.get("namespace", ""),
        metadata["name"],
        by=last.name if last else "",
        since=last.time if last else metadata.get("creationTimestamp", ""),
    )


def _of(
    recorded: Recorded,
    what: What,
    changed: str = "",
    stack: Any = MISSING,
    cluster: Any = MISSING,
    author: Manager | None = None,
) -> Difference:
    metadata = recorded.manifest["metadata"]
    return Difference(
        what,
        recorded.manifest["kind"],
        metadata.get("namespace", ""),
        metadata["name"],
        changed,
        stack,
        cluster,
        author.name if author else "",
        author.time if author else "",
        recorded.urn,
    )


def _own(recorded: Recorded, manifest: Manifest) -> frozenset[Path]:
    """The fields of Pulumi's field manager: it applies objects, and replaces definitions."""
    return frozenset(path for each in managers(manifest) if each.name == recorded.manager for path in each.fields)


def _others(recorded: Recorded, manifest: Manifest) -> list[Manager]:
    return [each for each in managers(manifest) if each.name != recorded.manager]


def _is_input(recorded: Recorded, path: Path) -> bool:
    """Whether the stack sets a field; of what is secret, whether it sets the part of the object."""
    if _is_hidden(recorded, path, MISSING):
        return value_at(recorded.inputs, path[:1]) is not MISSING
    return value_at(recorded.inputs, path) is not MISSING


def _changed(recorded: Recorded, found: Manifest, ours: Iterable[Path], still: frozenset[Path]) -> Iterator[Path]:
    """The fields of the stack that have another value now; each as what is reported of it."""
    for path in ours:
        before = value_at(recorded.manifest, path)
        if _is_hidden(recorded, path, before):
            if path not in still:
                yield path
        elif normalized(before) != normalized(now := value_at(found, path)):
            yield _whole(found, path) if now is MISSING else path


def _whole(found: Manifest, path: Path) -> Path:
    """What is missing as a whole if a field is: the outermost field around it, or the set that it is a value of."""
    outermost = next(path[:end] for end in range(1, len(path) + 1) if value_at(found, path[:end]) is MISSING)
    return outermost[:-1] if outermost[-1].startswith("v:") else outermost


def _added(recorded: Recorded, ours: frozenset[Path], others: Sequence[Manager]) -> Iterator[Path]:
    """The fields that others have added to an object; of a new part of it, only the part."""
    parts = {path[:end] for path in ours for end in range(len(path) + 1)}
    added = {
        next((path[:end] for end in range(1, len(path) + 1) if path[:end] not in parts), ())
        for each in others
        if not each.subresource
        for path in each.fields
        if not _is_expected(recorded, path)
    }
    yield from sorted(path for path in added if path)


def _is_expected(recorded: Recorded, path: Path) -> bool:
    """Whether a field is one that controllers or people write in every cluster."""
    # Kyverno and Capsule fill in objects of theirs, which the stack creates empty. The label counts only if the stack
    # sets it: after a refresh, the manifest also has what others have added.
    filled = bool({MANAGED_BY_LABEL, CREATED_BY_LABEL} & (recorded.inputs["metadata"].get("labels") or {}).keys())
    if path[0] == _METADATA:
        return len(path) < 2 or path[1] in _FREE_METADATA or (path[1] == "f:ownerReferences" and filled)
    return path[0] == "f:status" or path[-1] == _RESTARTED_AT or (path[0] in _FILLED_IN and filled)


def _is_hidden(recorded: Recorded, path: Path, value: Any) -> bool:
    """Whether a value is secret; of a Secret nothing but the metadata is read."""
    return is_sealed(value) or (recorded.manifest["kind"] == _SECRET and path[0] != _METADATA)


def _values(recorded: Recorded, found: Manifest, path: Path) -> tuple[Any, Any]:
    refreshed = path in taken_fields(recorded)
    before = value_at(recorded.inputs if refreshed else recorded.manifest, path)
    if _is_hidden(recorded, path, before):
        return HIDDEN, HIDDEN
    return normalized(before), normalized(value_at(found, path))


def _author(others: Iterable[Manager], paths: Iterable[Path]) -> Manager | None:
    """The last manager that has written one of the fields; None if nobody owns them, as after they were removed."""
    owners = [each for each in others if any(each.owns(path) for path in paths)]
    return max(owners, key=lambda each: each.time, default=None)
