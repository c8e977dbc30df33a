"""What in the cluster differs from what the last update has applied, as plain data.

Each object is compared as a whole with its copy in the state, by value, whoever owns a field. The state has the object
as the API server stored it, so defaults are in it, and reading is enough. Only what the API server and known
controllers write later is left out (`without_expected`); every other field that the copy does not have is a difference.

A refresh overwrites that copy with what it finds. Its `managedFields` then show what somebody else has written
(`as_applied`). The values of Secrets are not read, so their fields are compared by who owns them.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.installs.capsule import CREATED_BY_LABEL
from flux_tenancy.components.installs.kyverno import WEBHOOK_LABEL
from flux_tenancy.components.plan import FIELD_MANAGER, applying_managers
from flux_tenancy.components.vocabulary.manifests import Manifest, qualified
from flux_tenancy.operations.drift.managed_fields import (
    MISSING,
    FieldPath,
    Manager,
    managers,
    normalized,
    put,
    related,
    remove,
    shown,
    value_at,
)
from flux_tenancy.operations.drift.recorded_state import Recorded, is_sealed, is_secret

SECRET_VALUE = "(secret)"

_METADATA = "f:metadata"
MANAGERS: FieldPath = (_METADATA, "f:managedFields")
"""Where the API server records who has written which field."""
# `kubectl scale` takes this field from its owner, and need not become one.
_REPLICAS = ("f:spec", "f:replicas")
_SECRET = "Secret"
# What the API server writes into every object, and its type, which lists leave out.
_OF_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
_OF_TYPE = ("apiVersion", "kind", "status")
# Labels and annotations that known controllers and commands write, and that change nothing but their own bookkeeping.
# Any other one may select the object, or configure another controller: Pod Security, a service mesh, a scheduler, a
# cloud's identities.
_EXPECTED_KEYS = (
    "kubernetes.io/metadata.name",  # the API server
    "deployment.kubernetes.io/revision",  # kube-controller-manager
    "kubectl.kubernetes.io/restartedAt",  # `kubectl rollout restart`
    "kubectl.kubernetes.io/last-applied-configuration",
    "reconcile.fluxcd.io/requestedAt",  # `flux reconcile`
    "reconcile.fluxcd.io/forceAt",
    "reconcile.fluxcd.io/resetAt",
    "capsule.clastix.io/tenant",  # Capsule, in namespaces of its tenants
    "capsule.clastix.io/managed-by",
    "projectcapsule.dev/tenant",
    "projectcapsule.dev/managed-by",
    "projectcapsule.dev/admission-state-hash",  # in the webhooks that it writes itself
    "openshift.io/sa.scc.*",  # OpenShift allocates ranges of IDs to namespaces
    "openshift.io/description",  # OpenShift's projects
    "openshift.io/display-name",
    "openshift.io/requester",
    "cattle.io/status",  # Rancher reports on namespaces, and records their projects, whose members get bindings
    "field.cattle.io/*",
    "lifecycle.cattle.io/*",
    "management.cattle.io/no-default-sa-token",
    "cattle.io/creator",
    "kubesphere.io/creator",  # KubeSphere's workspaces
    "kubesphere.io/workspace",
    "tmc.cloud.vmware.com/*",  # Tanzu Mission Control's workspaces
    "io.portainer.kubernetes.resourcepool.*",  # Portainer
    "k8slens-edit-resource-version",  # Lens and FreeLens, in what somebody edits with them
    "freelens.app/resource-version",
)
_EXPECTED_FINALIZERS = (
    "finalizers.fluxcd.io",
    "controller.cattle.io/*",
    "finalizers.kubesphere.io/*",
    "capsule.clastix.io/*",
    "projectcapsule.dev/*",
    "controller.projectcapsule.dev/*",
)
_EXPECTED_OWNERS = ("capsule.clastix.io/*",)
# OpenShift's and older clusters' token controllers list Secrets of their own in accounts.
_OF_ACCOUNTS = ("secrets", "imagePullSecrets")
# Kyverno and Capsule fill in objects of theirs, which the stack creates empty.
_FILLED_IN = ("webhooks", "rules", "subjects")
# Lists whose items the API server merges by name; each other list is one value.
_BY_NAME = frozenset(f"f:{name}" for name in ("containers", "initContainers", "env", "volumes", "webhooks", "versions"))
_KEYS = ("f:labels", "f:annotations")
# Lists of metadata without an order, to which controllers add items of their own; with the key of an item.
_SETS: dict[FieldPath, str] = {(_METADATA, "f:finalizers"): "", (_METADATA, "f:ownerReferences"): "uid"}


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
        namespace: its namespace; empty for a cluster-scoped object.
        field: the field, e.g. `spec.replicas`; empty for a whole object.
        stack: the value in the stack, MISSING if it sets none; SECRET_VALUE for a secret.
        cluster: the value in the cluster, MISSING if there is none; SECRET_VALUE for a secret.
        by: the field manager that has made the difference, Pulumi's own if a killed update has; empty if the cluster
            does not record it.
        since: when that manager last wrote to the object, as an RFC 3339 time in UTC; empty if it is not recorded.
        urn: the resource; empty for FOREIGN and LEFT, and for what Kyverno's chart has created.
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

    @property
    def label(self) -> str:
        """Kind, namespace and name of the object, as people read them."""
        return f"{self.kind} {printable(qualified(self.namespace, self.name))}"


@dataclass(frozen=True)
class Change:
    """A field that has another value than it should have.

    Attributes:
        before: its value as the stack has applied it; MISSING if it sets none, SECRET_VALUE for a secret.
        now: its value in the cluster; MISSING if there is none, SECRET_VALUE for a secret.
    """

    path: FieldPath
    before: Any
    now: Any


def missing(recorded: Recorded) -> Difference:
    """That an object of the stack does not exist; Kubernetes does not record who has deleted it."""
    return _of(recorded, What.MISSING)


def differences(recorded: Recorded, found: Manifest) -> Iterator[Difference]:
    """The differences of one object.

    Args:
        found: the object in the cluster; of a Secret, only the metadata.
    """
    others, own = _others(recorded, found), _ahead(recorded, found)
    for each in changes(recorded, found, recorded.inputs):
        what = What.ADDED if each.before is MISSING else What.CHANGED
        if each.path == MANAGERS:
            former = former_managers(recorded, found)
            author = max((m for m in others if m.name in former), key=lambda m: m.time, default=None)
        else:
            author = _author(others, (each.path,)) or _author(own, (each.path,))
        yield _of(recorded, what, shown(each.path), each.before, each.now, author)


def changes(recorded: Recorded, found: Manifest, inputs: Manifest) -> list[Change]:
    """The fields of an object that differ from what the stack has applied, in order.

    Args:
        found: the object in the cluster; of a Secret, only the metadata.
        inputs: the object as the stack applies it; after a refresh, the state no longer has it.
    """
    still = _own(recorded, found)
    before, now = (without_expected(each, recorded) for each in (as_applied(recorded, inputs), found))
    changed = {each.path: each for each in _compared(before, now, ()) if not _is_hidden(recorded, each.path)}
    # A refresh has copied them, so their value says nothing; only Pulumi's manager does.
    for path in taken_fields(recorded) - still:
        if not _is_hidden(recorded, path) and not any(related(path, each) for each in changed):
            changed[path] = Change(path, normalized(value_at(inputs, path)), normalized(value_at(found, path)))
    changed |= {each.path: each for each in _changed_secrets(recorded, found)}
    if not still or former_managers(recorded, found):
        # Another manager has created the object again, or the record of managers was removed: a refresh could no
        # longer tell what the stack has applied. A former manager would keep fields that the stack no longer sets.
        changed[MANAGERS] = Change(MANAGERS, recorded.manager, [each.name for each in managers(found)])
    return [changed[path] for path in sorted(changed)]


def former_managers(recorded: Recorded, found: Manifest) -> list[str]:
    """The field managers by which Pulumi has applied an object, except the one in the state.

    The provider draws a name when it creates an object. If a killed update has not recorded it, the next one applies
    the object by another name.
    """
    return [each for each in applying_managers(found["metadata"]) if each != recorded.manager]


def is_former_manager(difference: Difference) -> bool:
    """Whether a difference is that a killed update has left its field manager."""
    return difference.field == shown(MANAGERS) and difference.by.startswith(FIELD_MANAGER)


def as_applied(recorded: Recorded, inputs: Manifest) -> Manifest:
    """The object of the state without what others had written when a refresh has copied it."""
    applied: Manifest = normalized(recorded.manifest)
    for path in sorted(foreign_fields(recorded, recorded.manifest)):
        if value_at(applied, path) is not MISSING and value_at(inputs, path) is MISSING:
            remove(applied, path)
    for path in taken_fields(recorded):
        put(applied, path, normalized(value_at(inputs, path)))
    # Nobody can apply a name twice, but others can append it, e.g. to `env`, where the last one counts.
    for path in list(_repeated(applied, ())):
        named = value_at(inputs, path)
        once = _by_name(value_at(applied, path) if named is MISSING else normalized(named))
        put(applied, path, [*once.values()])
    return applied


def is_ahead(recorded: Recorded, found: Manifest) -> bool:
    """Whether Pulumi's manager has written to an object after the state was written."""
    return bool(_ahead(recorded, found))


def is_refreshed(recorded: Recorded) -> bool:
    """Whether a refresh has copied into the state what others have written."""
    own = _own(recorded, recorded.manifest)
    return not own or bool(taken_fields(recorded) or foreign_fields(recorded, recorded.manifest))


def foreign_fields(recorded: Recorded, found: Manifest) -> list[FieldPath]:
    """The fields of an object that only other managers have written, without what they are expected to write."""
    rest = without_expected(found, recorded)
    added = _added(_own(recorded, found), _others(recorded, found))
    return [path for path in added if value_at(rest, path) is not MISSING]


def taken_fields(recorded: Recorded) -> frozenset[FieldPath]:
    """The fields of the stack that others had written when a refresh has copied the object into the state."""
    by_others = {path for each in _others(recorded, recorded.manifest) for path in each.fields}
    ours = _own(recorded, recorded.manifest)
    return frozenset(path for path in {*by_others, _REPLICAS} - ours if _is_input(recorded, path))


def content_changes(before: Manifest, now: Manifest) -> list[Change]:
    """The fields that differ between two objects of one kind, beside their metadata and status.

    Args:
        before: the object as the API server would store it.
    """
    left_out = {*_OF_TYPE, "metadata", *_OF_ACCOUNTS}
    old, new = ({name: each for name, each in normalized(one).items() if name not in left_out} for one in (before, now))
    return list(_compared(old, new, ()))


def without_expected(manifest: Manifest, recorded: Recorded) -> Manifest:
    """A copy without what the API server and known controllers write, and the stack does not set."""
    inputs = recorded.inputs
    # The label counts only if the stack sets it: after a refresh, the manifest also has what others have added.
    filled = bool({WEBHOOK_LABEL, CREATED_BY_LABEL} & (inputs["metadata"].get("labels") or {}).keys())
    left_out = {*_OF_TYPE, *(_FILLED_IN if filled else ())}
    if recorded.manifest["kind"] == "ServiceAccount":
        left_out |= {name for name in _OF_ACCOUNTS if name not in inputs}
    rest: Manifest = {name: each for name, each in normalized(manifest).items() if name not in left_out}
    metadata = rest["metadata"]
    for name in _OF_SERVER:
        metadata.pop(name, None)
    _keep(metadata, "finalizers", lambda each: not _matches(each, _EXPECTED_FINALIZERS))
    _keep(
        metadata, "ownerReferences", lambda each: not (filled or _matches(each.get("apiVersion", ""), _EXPECTED_OWNERS))
    )
    template = value_at(rest, ("f:spec", "f:template", _METADATA))
    for path, place in (((_METADATA,), metadata), (("f:spec", "f:template", _METADATA), template)):
        for name in ("labels", "annotations"):
            own = value_at(inputs, (*path, f"f:{name}"))
            own = {} if own is MISSING else own
            if isinstance(place, dict) and name in place:
                kept = {
                    key: each for key, each in place[name].items() if key in own or not _matches(key, _EXPECTED_KEYS)
                }
                place[name] = kept
                if not kept:
                    del place[name]
    return rest


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


def _keep(metadata: Manifest, name: str, wanted: Callable[[Any], bool]) -> None:
    """Keep the wanted items of a list; without one, no list."""
    kept = [each for each in metadata.pop(name, ()) if wanted(each)]
    if kept:
        metadata[name] = kept


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(text, each) for each in patterns)


def _compared(before: Any, now: Any, path: FieldPath) -> Iterator[Change]:
    """The outermost fields that differ between two values."""
    if path and path[-1] in _KEYS:
        before, now = ({} if each is MISSING else each for each in (before, now))
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in sorted({*before, *now}):
            yield from _compared(before.get(name, MISSING), now.get(name, MISSING), (*path, f"f:{name}"))
    elif (key := _SETS.get(path)) is not None:
        old, new = (_items(each, key) for each in (before, now))
        for step in sorted({*old, *new}):
            yield from _compared(old.get(step, MISSING), new.get(step, MISSING), (*path, step))
    elif path and path[-1] in _BY_NAME and _only_more(before, now):
        old, new = _by_name(before), _by_name(now)
        for step in sorted(new):
            yield from _compared(old.get(step, MISSING), new[step], (*path, step))
    elif before != now:
        yield Change(path, before, now)


def _items(values: Any, key: str) -> dict[str, Any]:
    """The items of a list of metadata, by the step that leads to each."""
    listed = [] if values is MISSING else values
    return {
        f"k:{json.dumps({key: each[key]}, separators=(',', ':'))}" if key else f"v:{json.dumps(each)}": each
        for each in listed
    }


def _by_name(values: Any) -> dict[str, Any]:
    """The first item of each name in a list, by the step that leads to it; empty unless all items have a name."""
    if not isinstance(values, list) or not all(isinstance(each, Mapping) and "name" in each for each in values):
        return {}
    found: dict[str, Any] = {}
    for each in values:
        found.setdefault("k:" + json.dumps({"name": each["name"]}, separators=(",", ":")), each)
    return found


def _repeated(value: Any, path: FieldPath) -> Iterator[FieldPath]:
    """The lists of items by name that have one name twice."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _repeated(each, (*path, f"f:{name}"))
    elif path and path[-1] in _BY_NAME and isinstance(value, list):
        named = _by_name(value)
        if named and len(named) < len(value):
            yield path
        else:
            for step, each in named.items():
                yield from _repeated(each, (*path, step))


def _only_more(before: Any, now: Any) -> bool:
    """Whether a list keeps all its items, once and in their order, so that a change is one of an item."""
    old, new = _by_name(before), _by_name(now)
    kept = [step for step in new if step in old]
    return bool(old) and list(old) == kept and (len(old), len(new)) == (len(before), len(now))


def _changed_secrets(recorded: Recorded, found: Manifest) -> Iterator[Change]:
    """What others have written of values that are not read."""
    ours, still = _own(recorded, recorded.manifest) | taken_fields(recorded), _own(recorded, found)
    for path in ours - still:
        if _is_hidden(recorded, path):
            yield Change(path, SECRET_VALUE, SECRET_VALUE)
    for path in _added(ours | still, _others(recorded, found)):
        if _is_hidden(recorded, path) and path[0] != "f:status":
            yield Change(path, MISSING, SECRET_VALUE)
    if still and recorded.manifest["kind"] == _SECRET and _ahead(recorded, found):
        # By Pulumi's name, anybody could have written them, and they are not read.
        yield from (Change(path, SECRET_VALUE, SECRET_VALUE) for path in ours & still if path[0] == "f:data")


def _is_hidden(recorded: Recorded, path: FieldPath) -> bool:
    """Whether a value is secret; of a Secret nothing but the metadata is read."""
    if recorded.manifest["kind"] == _SECRET:
        return path[0] != _METADATA
    around = (value_at(recorded.manifest, path[:end]) for end in range(1, len(path)))
    return is_sealed(value_at(recorded.manifest, path)) or any(map(is_secret, around))


def _is_input(recorded: Recorded, path: FieldPath) -> bool:
    """Whether the stack sets a field; of what is secret, whether it sets the part of the object."""
    return value_at(recorded.inputs, path[:1] if _is_hidden(recorded, path) else path) is not MISSING


def _own(recorded: Recorded, manifest: Manifest) -> frozenset[FieldPath]:
    """The fields of Pulumi's field manager: it applies objects, and replaces definitions."""
    return frozenset(path for each in managers(manifest) if each.name == recorded.manager for path in each.fields)


def _others(recorded: Recorded, manifest: Manifest) -> list[Manager]:
    return [each for each in managers(manifest) if each.name != recorded.manager]


def _ahead(recorded: Recorded, found: Manifest) -> list[Manager]:
    """Pulumi's manager, if it has written after the state: an update was killed before it has recorded that."""
    known = {each.time for each in managers(recorded.manifest) if each.name == recorded.manager}
    return [each for each in managers(found) if each.name == recorded.manager and each.time not in known]


def _added(ours: frozenset[FieldPath], others: Iterable[Manager]) -> list[FieldPath]:
    """The fields that others have added to an object; of a new part of it, only the part."""
    parts = {path[:end] for path in ours for end in range(len(path) + 1)}
    added = {
        next((path[:end] for end in range(1, len(path) + 1) if path[:end] not in parts), ())
        for each in others
        for path in each.fields
    }
    return sorted(path for path in added if path)


def _author(others: Iterable[Manager], paths: Iterable[FieldPath]) -> Manager | None:
    """The last manager that has written one of the fields; None if nobody owns them, as after they were removed."""
    owners = [each for each in others if any(each.owns(path) for path in paths)]
    return max(owners, key=lambda each: each.time, default=None)
