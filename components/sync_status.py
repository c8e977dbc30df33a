"""How syncs are doing, as Flux itself reports it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from components.printable import printable

POLL_SECONDS = 1.0
# Source: https://pkg.go.dev/github.com/fluxcd/pkg/apis/meta#HealthCheckCanceledReason
HEALTH_CHECK_CANCELED = "HealthCheckCanceled"


@dataclass(frozen=True)
class SyncStatus:
    """The state of one object of Flux.

    Attributes:
        ready: `True`, `False` or `Unknown`, as in the condition of Flux.
        message: what Flux says, on one line; empty while all is well, so that a healthy stack's outputs do not change.
    """

    ready: str
    message: str

    @property
    def settled(self) -> bool:
        """Whether waiting longer would tell nothing new."""
        return self.ready != "Unknown" or self == SUSPENDED


NOT_RECONCILED = SyncStatus("Unknown", "not reconciled yet")
SUSPENDED = SyncStatus("Unknown", "suspended")


@dataclass(frozen=True)
class Progress:
    """How far a sync has come.

    Attributes:
        fetched: the state of its source.
        applied: the state of its Kustomization.
    """

    fetched: SyncStatus = NOT_RECONCILED
    applied: SyncStatus = NOT_RECONCILED

    @property
    def overall(self) -> SyncStatus:
        """One state for both: a sync whose source fails can only say that it has nothing, or nothing new, to apply."""
        return self.applied if self.fetched.ready == "True" else self.fetched


def progress_of(objects: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Progress]:
    """How far each sync has come, by the (namespace, name) that its source and its Kustomization share."""
    found: dict[tuple[str, str], Progress] = defaultdict(Progress)
    for each in objects:
        key = each["metadata"]["namespace"], each["metadata"]["name"]
        part = "applied" if each["kind"] == "Kustomization" else "fetched"
        found[key] = replace(found[key], **{part: status_of(each)})
    return dict(found)


def status_of(found: Mapping[str, Any]) -> SyncStatus:
    """The status of a Flux object as the API server has it. One for an older generation says nothing yet."""
    generation = found["metadata"].get("generation")
    for condition in found.get("status", {}).get("conditions", ()):
        if condition["type"] == "Ready" and condition.get("observedGeneration", generation) == generation:
            # Something newer has come while the wait for health was going on, and is being applied.
            given_up = condition.get("reason") == HEALTH_CHECK_CANCELED
            ready = "Unknown" if given_up else condition["status"]
            return SyncStatus(ready, "" if ready == "True" else printable(condition.get("message", "")))
    return SUSPENDED if found.get("spec", {}).get("suspend") else NOT_RECONCILED


def wait_until_settled(
    read: Callable[[], Iterable[Mapping[str, Any]]],
    syncs: Collection[tuple[str, str]],
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[tuple[str, str], Progress]:
    """Wait for the first result of each sync, good or bad, and never longer than `timeout_seconds`.

    Args:
        read: returns the sources and Kustomizations.
        syncs: (namespace, name) of those to wait for.
        timeout_seconds: 0 looks once.
        clock: seconds that only grow.
        sleep: waits for a number of seconds.
    """
    deadline = clock() + timeout_seconds
    while True:
        found = progress_of(read())
        progress = {sync: found.get(sync, Progress()) for sync in syncs}
        if all(each.overall.settled for each in progress.values()) or clock() >= deadline:
            return progress
        sleep(POLL_SECONDS)
