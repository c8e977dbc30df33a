"""What a stack's state becomes by the entries of an update's journal, as the engine sends them to Pulumi Cloud.

The engine's own replay also follows aliases, which no resource of these tests has.

Source: JournalReplayer in pkg/backend/journal.go, and sdk/go/common/apitype/journal.go, of Pulumi
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any

Json = dict[str, Any]

_CREATING = "creating"


class Entry(IntEnum):
    """The kinds of entries."""

    BEGIN = 0
    SUCCESS = 1
    FAILURE = 2
    REFRESHED = 3
    OUTPUTS = 4
    WRITE = 5
    SECRETS = 6
    REBUILT = 7
    EXTENSION = 8
    SNIPPETS = 9


class Journal:
    """A replay: entries are added, and `deployment()` is the state by then.

    Args:
        base: the state before the update.
        refreshed: whether resources may refer to those that a refresh has not found.
    """

    def __init__(self, base: Json, refreshed: bool = False) -> None:
        self._base, self._refreshed = base, refreshed
        self._new: list[Json] = []
        self._index: dict[int, int] = {}  # by operation, in the new resources
        self._removed: set[int] = set()  # of the new resources
        self._gone: set[int] = set()  # of the base's
        self._replaced: dict[int, Json] = {}
        self._marked: dict[int, Json] = {}
        self._pending: dict[int, Json | None] = {}

    def add(self, entry: Json) -> None:
        kind, operation, state = Entry(entry["kind"]), entry["operationID"], entry.get("state")
        old, new = entry.get("removeOld"), entry.get("removeNew")
        if kind is Entry.BEGIN:
            self._pending[operation] = entry.get("operation")
        if kind in (Entry.SUCCESS, Entry.FAILURE, Entry.REFRESHED):
            self._pending.pop(operation, None)
        self._refreshed |= kind is Entry.REFRESHED or (kind is Entry.SUCCESS and entry.get("isRefresh", False))
        if kind is Entry.SUCCESS:
            if state:
                self._index[operation] = len(self._new)
                self._new.append(state)
            self._replace(old, new, None)
            for mark in ("delete", "pendingReplacement"):
                if (index := entry.get(f"{mark}Old")) is not None:
                    self._marked.setdefault(index, {})[mark] = True
                if (index := entry.get(f"{mark}New")) is not None:
                    self._new[self._index[index]][mark] = True
        elif kind is Entry.REFRESHED or (kind is Entry.OUTPUTS and state):
            self._replace(old, new, state)
        elif kind is Entry.WRITE:
            self._base = entry["newSnapshot"]
        elif kind is Entry.SECRETS:
            self._base = self._base | {"secrets_providers": entry["secretsProvider"]}
        elif kind is Entry.SNIPPETS:
            self._base = self._base | {"snippets": entry.get("snippets")}
        elif kind is Entry.EXTENSION:
            extensions = self._base.get("extensions", {}) | {entry["extensionRef"]: entry["extension"]}
            self._base = self._base | {"extensions": extensions}
        elif kind is Entry.REBUILT:
            Journal.__init__(self, self.deployment(), self._refreshed)

    def _replace(self, old: int | None, new: int | None, state: Json | None) -> None:
        """Replace a resource of the base, or a new one, or remove it."""
        if old is not None:
            if state:
                self._replaced[old] = state
            else:
                self._gone.add(old)
        if new is not None:
            if state:
                self._new[self._index[new]] = state
            else:
                self._removed.add(self._index[new])

    def deployment(self) -> Json:
        resources = [dict(each) for index, each in enumerate(self._new) if index not in self._removed]
        resources += [
            self._replaced.get(index) or each | self._marked.get(index, {})
            for index, each in enumerate(self._base.get("resources") or ())
            if index not in self._gone
        ]
        pending = [each for each in self._pending.values() if each]
        pending += [each for each in self._base.get("pending_operations") or () if each["type"] == _CREATING]
        return self._base | {
            "resources": list(_without_dangling(resources)) if self._refreshed else resources,
            "pending_operations": pending,
        }


def _without_dangling(resources: Sequence[Json]) -> Iterator[Json]:
    """Resources without references to those that a refresh has not found."""
    known: set[str] = set()
    parents: dict[str, str] = {}
    for each in resources:
        found = dict(each)
        for key in ("dependencies", "replaceWith"):
            if key in found:
                found[key] = [urn for urn in found[key] if urn in known]
        if by_property := found.get("propertyDependencies"):
            found["propertyDependencies"] = {
                name: [urn for urn in urns or () if urn in known] for name, urns in by_property.items()
            }
        if found.get("deletedWith") not in known:
            found.pop("deletedWith", None)
        if (parent := found.get("parent", "")) and parent not in known:
            found["parent"] = parents.get(parent, "")
        known.add(found["urn"])
        parents[found["urn"]] = parent
        yield found
