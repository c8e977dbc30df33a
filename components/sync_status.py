"""How the tenants' syncs are doing, as Flux itself reports it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

POLL_SECONDS = 1.0


@dataclass(frozen=True)
class SyncStatus:
    """The state of one tenant's sync.

    Attributes:
        ready: `True`, `False` or `Unknown`, as in the condition of Flux.
        message: what Flux says; empty while all is well, so that a healthy stack's outputs do not change.
    """

    ready: str
    message: str

    @property
    def settled(self) -> bool:
        """Whether waiting longer would tell nothing new."""
        return self.ready != "Unknown" or self == SUSPENDED


NOT_RECONCILED = SyncStatus("Unknown", "not reconciled yet")
SUSPENDED = SyncStatus("Unknown", "suspended")


def statuses_of(objects: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], SyncStatus]:
    """The status of each tenant's sync, by the (namespace, name) that its source and its Kustomization share.

    A sync whose source fails says only that there is nothing to apply; the reason stands in the source, so that is
    what is shown.
    """
    syncs: dict[tuple[str, str], SyncStatus] = {}
    sources: dict[tuple[str, str], SyncStatus] = {}
    for found in objects:
        metadata = found["metadata"]
        kind = syncs if found["kind"] == "Kustomization" else sources
        kind[metadata["namespace"], metadata["name"]] = status_of(found)
    return {
        key: source if (source := sources.get(key, sync)).ready == "False" and sync.ready != "True" else sync
        for key, sync in syncs.items()
    }


def status_of(found: Mapping[str, Any]) -> SyncStatus:
    """The status of a Flux object as the API server has it. One for an older generation says nothing yet."""
    generation = found["metadata"].get("generation")
    for condition in found.get("status", {}).get("conditions", ()):
        if condition["type"] == "Ready" and condition.get("observedGeneration", generation) == generation:
            ready = condition["status"]
            return SyncStatus(ready, "" if ready == "True" else condition.get("message", ""))
    return SUSPENDED if found.get("spec", {}).get("suspend") else NOT_RECONCILED


def wait_until_settled(
    read: Callable[[], list[Mapping[str, Any]]],
    tenants: Collection[tuple[str, str]],
    timeout_seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[tuple[str, str], SyncStatus]:
    """Wait for the first result of each tenant's sync, good or bad, and never longer than `timeout_seconds`.

    Args:
        read: returns the sources and Kustomizations of all tenants.
        tenants: (namespace, name) of the Kustomizations to wait for.
        timeout_seconds: 0 looks once.
        clock: seconds that only grow.
        sleep: waits for a number of seconds.
    """
    deadline = clock() + timeout_seconds
    while True:
        found = statuses_of(read())
        statuses = {tenant: found.get(tenant, NOT_RECONCILED) for tenant in tenants}
        if all(status.settled for status in statuses.values()) or clock() >= deadline:
            return statuses
        sleep(POLL_SECONDS)
