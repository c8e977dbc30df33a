"""How syncs are doing, as Flux itself reports it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from components.config.printable import printable

POLL_SECONDS = 1.0
# Flux answers within seconds, unless a Git host or the health of an application keeps it.
UNCONCERNED_SECONDS = 10.0
SOURCE, KUSTOMIZATION = "source", "Kustomization"
# Source: https://pkg.go.dev/github.com/fluxcd/pkg/apis/meta#pkg-constants
HEALTH_CHECK_CANCELED = "HealthCheckCanceled"
ARTIFACT_FAILED = "ArtifactFailed"
# Source: checkHealth in internal/controller/kustomization_controller.go of kustomize-controller 1.9
HEALTH_STAGE = "Running health checks"
# Source: MkdirTempAbs of kustomize-controller, TempDirForObj of source-controller
_SCRATCH_FOLDER = re.compile(r"(?<![\w./:-])(?:/[\w.-]+)*/(?:kustomization|gitrepository-[a-z0-9.-]+)-\d{4,}(?![\w.-])")
REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"

Sync = tuple[str, str]
"""Namespace and name that a source and its Kustomization share."""


@dataclass(frozen=True)
class SyncStatus:
    """The state of one object of Flux.

    Attributes:
        ready: `True`, `False` or `Unknown`, as in the condition of Flux.
        message: what Flux says, on one line; empty while all is well, so that a healthy stack's outputs do not change.
        as_of: since when it is in progress, or when Flux said so last; None where it has said nothing.
    """

    ready: str
    message: str
    as_of: datetime | None = field(default=None, compare=False)

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


@dataclass(frozen=True)
class Asking:
    """What decides whether Flux is asked to reconcile a sync now.

    Flux looks again at what failed only after its `retryInterval`, and at what is well after its `interval`, so what it
    says may be older than the change that was to mend it.

    Attributes:
        request: has Flux reconcile an object; says whether that could be asked.
        concerned: the syncs whose answer may depend on what the update has changed.
        renewed: whether an object (kind, namespace, name) is as this update has made it, so that Flux looks by itself.
    """

    request: Callable[[Mapping[str, Any]], bool]
    concerned: Collection[Sync] = ()
    renewed: Callable[[str, str, str], bool] = lambda *name: False


def status_of(found: Mapping[str, Any]) -> SyncStatus:
    """The status of a Flux object as the API server has it. One for an older generation says nothing yet."""
    generation = found["metadata"].get("generation")
    if (condition := _condition(found, "Ready")) is not None and condition.get(
        "observedGeneration", generation
    ) == generation:
        # Something newer has come while the wait for health was going on, and is being applied.
        given_up = condition.get("reason") == HEALTH_CHECK_CANCELED
        ready = "Unknown" if given_up else condition["status"]
        # While it is at it, Flux says here how far it has come.
        stage = (_condition(found, "Reconciling") or {}).get("message") if ready == "Unknown" else None
        message = stage or condition.get("message", "")
        message = "" if ready == "True" else _without_scratch_folders(printable(message))
        return SyncStatus(ready, message, _as_of(condition, found["status"]))
    return SUSPENDED if _is_suspended(found) else NOT_RECONCILED


def wait_until_settled(
    read: Callable[[], Iterable[Mapping[str, Any]]],
    syncs: Collection[Sync],
    timeout_seconds: float,
    asking: Asking,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[Sync, Progress]:
    """Wait for a result of each sync, good or bad, that is younger than what the update has changed.

    Those that the update concerns are waited for no longer than `timeout_seconds`, all others, which may never settle,
    for a few seconds: those that have failed are asked whether they still do.

    Args:
        read: returns the sources and Kustomizations.
        syncs: those to wait for.
        timeout_seconds: 0 looks once, and asks nothing.
        asking: how Flux is asked, and about what.
        clock: seconds that only grow.
        sleep: waits for a number of seconds.
    """
    began = clock()
    inquiries = {sync: _Inquiry(sync, asking, asks=timeout_seconds > 0) for sync in syncs}
    while True:
        found = {_place(each): each for each in read()}
        waiting = False
        for sync, inquiry in inquiries.items():
            patience = timeout_seconds if sync in asking.concerned else UNCONCERNED_SECONDS
            # Requests take time, too, where admission does not answer.
            in_time = clock() - began < min(patience, timeout_seconds)
            inquiry.look(found, in_time)
            waiting |= in_time and not inquiry.settled
        if not waiting:
            return {sync: each.last_known for sync, each in inquiries.items()}
        sleep(POLL_SECONDS)


class _Inquiry:
    """What Flux says of a sync, asked anew where that is out of date: first of its source, then of its Kustomization.

    Attributes:
        progress: how far it has come.
        settled: whether waiting longer would tell nothing new.
    """

    def __init__(self, sync: Sync, asking: Asking, asks: bool) -> None:
        self._sync, self._asks, self._concerned = sync, asks, sync in asking.concerned
        self._source, self._kustomization = _Object(asking), _Object(asking)
        self._before: Progress | None = None
        self.progress = Progress()
        self.settled = False

    def look(self, objects: Mapping[tuple[str, Sync], Mapping[str, Any]], in_time: bool) -> None:
        """Take in how the objects stand now, and ask what is to be asked while there is time."""
        source, kustomization = (objects.get((part, self._sync)) for part in (SOURCE, KUSTOMIZATION))
        if self._before is None:
            self._before = Progress(*(status_of(each) if each else NOT_RECONCILED for each in (source, kustomization)))
        # Whatever was to mend what has failed, in Git or in the cluster: it is seen now, and not at the next retry.
        asks = self._asks and (self._concerned or self._before.overall.ready == "False")
        fetched, settled = self._source.look(source, asks, in_time)
        follows = asks and settled and fetched.ready == "True"
        applied, applied_settled = self._kustomization.look(kustomization, follows, in_time)
        self.progress = Progress(fetched, applied)
        self.settled = settled and (applied_settled or fetched.ready != "True")

    @property
    def last_known(self) -> Progress:
        """How far it has come, or a reason from before: however old, it says more than that there is no answer yet.

        Only where all is applied, and its health is waited for, a reason from before is out of date.
        """
        now = self.progress.overall
        unanswered = not self.settled and now.ready != "False" and not now.message.startswith(HEALTH_STAGE)
        if unanswered and self._before is not None and self._before.overall.ready == "False":
            return self._before
        return self.progress


class _Object:
    """One object of a sync, and whether its answer is still to come."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._asked = self._waiting = False

    def look(self, found: Mapping[str, Any] | None, asks: bool, in_time: bool) -> tuple[SyncStatus, bool]:
        """What is known of it, and whether waiting longer would tell nothing new.

        Args:
            found: how it stands now; None where it is not there.
            asks: whether an answer is wanted that is younger than what the update has changed.
            in_time: whether one could still come.
        """
        if found is None:
            return NOT_RECONCILED, False
        status = status_of(found)
        if asks and not self._asked and self._is_out_of_date(found, status):
            self._asked = True
            self._waiting = not in_time or self._asking.request(found)
        elif self._waiting:
            self._waiting = not _has_answered(found)
        if not self._waiting:
            return status, status.settled
        # It was well before the change; whether it still is is not known.
        return NOT_RECONCILED if status.ready == "True" else status, False

    def _is_out_of_date(self, found: Mapping[str, Any], status: SyncStatus) -> bool:
        kind, (_, (namespace, name)) = found["kind"], _place(found)
        if _is_suspended(found):
            return False
        if not self._asking.renewed(kind, namespace, name):
            return True
        # It looked before its source was there, and looks again when it has taken note of it.
        return status.ready == "False" and (_condition(found, "Ready") or {}).get("reason") == ARTIFACT_FAILED


def _place(found: Mapping[str, Any]) -> tuple[str, Sync]:
    """Which part of which sync an object is; sources may be of several kinds."""
    part = KUSTOMIZATION if found["kind"] == KUSTOMIZATION else SOURCE
    return part, (found["metadata"]["namespace"], found["metadata"]["name"])


def _condition(found: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    conditions: Iterable[Mapping[str, Any]] = found.get("status", {}).get("conditions", ())
    return next((condition for condition in conditions if condition["type"] == kind), None)


def _is_suspended(found: Mapping[str, Any]) -> bool:
    return bool(found.get("spec", {}).get("suspend"))


def _without_scratch_folders(message: str) -> str:
    """A message with paths as the repository has them.

    Flux's controllers work in a folder of their pod's with another name at each attempt, which tells nobody anything
    and would change the stack's outputs at each update.
    """
    return _SCRATCH_FOLDER.sub(".", message)


def _has_answered(found: Mapping[str, Any]) -> bool:
    """Whether Flux has ended a reconciliation that began after it was asked; whoever asks again asks later."""
    requested: str | None = found["metadata"].get("annotations", {}).get(REQUESTED_AT)
    return requested is not None and requested == found.get("status", {}).get("lastHandledReconcileAt")


def _as_of(condition: Mapping[str, Any], status: Mapping[str, Any]) -> datetime | None:
    """The last time that is known of.

    Flux leaves the time of a condition alone while it says the same; the last request, whose answer it is, is a time,
    too, where it is not a text of somebody's own.
    """
    times = []
    for text in (condition.get("lastTransitionTime", ""), status.get("lastHandledReconcileAt", "")):
        try:
            times.append(datetime.fromisoformat(text).astimezone(UTC))
        except ValueError:
            continue
    return max(times, default=None)
