"""The status of syncs, as Flux itself reports it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.vocabulary.names import EXTERNAL_ARTIFACT, HELM_CHART, HELM_RELEASE

POLL_SECONDS = 1.0
# Flux answers within seconds, unless it waits for a Git host or for an application to become healthy.
UNCONCERNED_SECONDS = 10.0
# Source: https://pkg.go.dev/github.com/fluxcd/pkg/apis/meta#pkg-constants
HEALTH_CHECK_CANCELED = "HealthCheckCanceled"
ARTIFACT_FAILED = "ArtifactFailed"
DEPENDENCY_NOT_READY = "DependencyNotReady"
# Source: reconcileRelease in internal/controller/helmrelease_controller.go of helm-controller 1.6
SOURCE_NOT_READY = "SourceNotReady"
# Source: checkHealth in internal/controller/kustomization_controller.go of kustomize-controller 1.9
HEALTH_STAGE = "Running health checks"
# Source: MkdirTempAbs of kustomize-controller, TempDirForObj of source-controller
_SCRATCH_FOLDER = re.compile(r"(?<![\w./:-])(?:/[\w.-]+)*/(?:kustomization|gitrepository-[a-z0-9.-]+)-\d{4,}(?![\w.-])")
REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"

ObjectName = tuple[str, str, str]
"""Kind, namespace and name of an object."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Sync:
    """What Flux applies, by the names of its objects.

    Attributes:
        source: where it comes from. The HelmChart of a release is created by helm-controller, and may be absent.
        needed: the objects of the same kind that have to be ready first.
    """

    source: ObjectName
    applied: ObjectName
    needed: tuple[ObjectName, ...] = ()


def sync_of(manifest: Mapping[str, Any]) -> Sync:
    """The sync that a manifest of a Kustomization or HelmRelease describes; its source is in the same namespace."""
    applied, spec = name_of_object(manifest), manifest["spec"]
    kind, namespace, name = applied
    if kind == HELM_RELEASE and "chart" in spec:
        # Source: GetHelmChartName in api/v2/helmrelease_types.go of helm-controller
        source = (HELM_CHART, namespace, f"{namespace}-{name}")
    else:
        reference = spec["chartRef"] if kind == HELM_RELEASE else spec["sourceRef"]
        source = (reference["kind"], namespace, reference["name"])
    return Sync(source, applied, tuple((kind, namespace, each["name"]) for each in spec.get("dependsOn", ())))


@dataclass(frozen=True)
class SyncStatus:
    """The status of one Flux object.

    Attributes:
        ready: `True`, `False` or `Unknown`, as in Flux's `Ready` condition.
        message: Flux's message, on one line; empty if ready, so that the outputs of a healthy stack do not change.
        as_of: when the reconciliation began, or when Flux last reported this; None if it has not reported anything.
    """

    ready: str
    message: str
    as_of: datetime | None = field(default=None, compare=False)

    @property
    def settled(self) -> bool:
        """Whether waiting longer would not change it."""
        return self.ready != "Unknown" or self == SUSPENDED


NOT_RECONCILED = SyncStatus("Unknown", "not reconciled yet")
SUSPENDED = SyncStatus("Unknown", "suspended")
# helm-controller creates the HelmChart, and others an ExternalArtifact, which has no label by which it is read. Until
# one is found, only what is applied from it can say what is missing.
_OF_OTHERS = (HELM_CHART, EXTERNAL_ARTIFACT)
NOT_FOUND = SyncStatus("True", "")
# It continues by itself as soon as what it waits for is ready.
_WAITING = frozenset({DEPENDENCY_NOT_READY, SOURCE_NOT_READY})


@dataclass(frozen=True)
class Progress:
    """The progress of a sync.

    Attributes:
        fetched: the status of its source.
        applied: the status of its Kustomization or HelmRelease.
        revision: what was applied last: the revision of its source, or the version of its chart; empty if nothing was.
    """

    fetched: SyncStatus = NOT_RECONCILED
    applied: SyncStatus = NOT_RECONCILED
    revision: str = ""

    @property
    def overall(self) -> SyncStatus:
        """One status for both: while the source is not ready, what it is applied by can only report that it waits."""
        return self.applied if self.fetched.ready == "True" else self.fetched


@dataclass(frozen=True)
class ReconcileRequests:
    """What decides whether to request a reconciliation of a sync.

    Flux reconciles a failed object only after its `retryInterval`, and a ready one after its `interval`. So its status
    may be older than the change that should fix it.

    Attributes:
        request: requests the reconciliation of an object; returns whether the request succeeded.
        concerned: the keys of the syncs whose status may depend on what the update has changed.
        renewed: whether this update created an object (kind, namespace, name) or changed its spec, so that Flux
            reconciles it without a request.
    """

    request: Callable[[Mapping[str, Any]], bool]
    concerned: Collection[Hashable] = ()
    renewed: Callable[[str, str, str], bool] = lambda *name: False


def status_of(found: Mapping[str, Any]) -> SyncStatus:
    """The status of a Flux object, as read from the API server. A status for an older generation does not count."""
    generation = found["metadata"].get("generation")
    if (condition := _condition(found, "Ready")) is not None and condition.get(
        "observedGeneration", generation
    ) == generation:
        # A newer revision arrived during the health checks and is being applied.
        canceled = condition.get("reason") == HEALTH_CHECK_CANCELED
        ready = "Unknown" if canceled else condition["status"]
        # During a reconciliation, Flux reports its progress here.
        stage = (_condition(found, "Reconciling") or {}).get("message") if ready == "Unknown" else None
        message = stage or condition.get("message", "")
        message = "" if ready == "True" else _without_scratch_folders(printable(message))
        return SyncStatus(ready, message, _as_of(condition, found["status"]))
    return SUSPENDED if _is_suspended(found) else NOT_RECONCILED


def wait_until_settled(
    read: Callable[[], Iterable[Mapping[str, Any]]],
    syncs: Mapping[Key, Sync],
    timeout_seconds: float,
    requests: ReconcileRequests,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[Key, Progress]:
    """Wait until each sync has succeeded or failed with what the update has changed.

    Syncs that the update concerns are waited for until `timeout_seconds` have passed, all others, which may never
    settle, only for a few seconds: if they had failed, a reconciliation is requested to see whether they still do.

    Args:
        read: returns the sources and what applies them.
        syncs: the syncs to wait for, by any key.
        timeout_seconds: 0 reads the status once and requests nothing.
    """
    began = clock()
    waits = {
        key: _SyncWait(sync, requests, key in requests.concerned, asks=timeout_seconds > 0)
        for key, sync in syncs.items()
    }
    by_name = {sync.applied: waits[key] for key, sync in syncs.items()}
    while True:
        found = {name_of_object(each): each for each in read()}
        waiting = False
        for key, sync in syncs.items():
            patience = timeout_seconds if key in requests.concerned else UNCONCERNED_SECONDS
            # Requests also take time if an admission webhook does not answer.
            in_time = clock() - began < min(patience, timeout_seconds)
            waits[key].look(found, in_time, [by_name[name] for name in sync.needed if name in by_name])
            waiting |= in_time and not waits[key].settled
        if not waiting:
            return {key: each.last_known for key, each in waits.items()}
        sleep(POLL_SECONDS)


class _SyncWait:
    """The wait for one sync: requests reconciliations if its status is out of date, of the source first.

    Attributes:
        progress: the progress of the sync.
        settled: whether waiting longer would not change it.
    """

    def __init__(self, sync: Sync, requests: ReconcileRequests, concerned: bool, asks: bool) -> None:
        self._sync, self._asks, self._concerned = sync, asks, concerned
        self._source, self._applied = _ObjectWait(requests), _ObjectWait(requests)
        self._before: Progress | None = None
        self.progress = Progress()
        self.settled = False

    def look(self, objects: Mapping[ObjectName, Mapping[str, Any]], in_time: bool, needed: Iterable[_SyncWait]) -> None:
        """Take in the current objects, and request reconciliations while there is time.

        Args:
            objects: the objects by their names.
            in_time: whether there is time left to wait.
        """
        source, applied = objects.get(self._sync.source), objects.get(self._sync.applied)
        if self._before is None:
            fetched, status = (status_of(each) if each else NOT_RECONCILED for each in (source, applied))
            self._before = Progress(fetched, status, _revision(applied))
        # A fix, in Git or in the cluster, is noticed now and not at the next retry.
        asks = self._asks and (self._concerned or self._before.overall.ready == "False")
        if source is None and self._sync.source[0] in _OF_OTHERS:
            fetched, settled = NOT_FOUND, True
        else:
            fetched, settled = self._source.look(source, asks, in_time)
        needed = list(needed)
        follows = settled and fetched.ready == "True" and all(each.is_ready for each in needed)
        status, applied_settled = self._applied.look(applied, asks and follows, in_time)
        if (_reason(applied) in _WAITING) and not any(each.has_failed for each in needed):
            applied_settled = False
        self.progress = Progress(fetched, status, _revision(applied))
        self.settled = settled and (applied_settled or fetched.ready != "True")

    @property
    def is_ready(self) -> bool:
        return self.settled and self.progress.overall.ready == "True"

    @property
    def has_failed(self) -> bool:
        return self.settled and not self.is_ready

    @property
    def last_known(self) -> Progress:
        """The progress, or the previous failure while there is no new result: it says more than "in progress".

        Once everything is applied and the health checks run, the previous failure is out of date.
        """
        now = self.progress.overall
        unanswered = not self.settled and now.ready != "False" and not now.message.startswith(HEALTH_STAGE)
        if unanswered and self._before is not None and self._before.overall.ready == "False":
            return self._before
        return self.progress


class _ObjectWait:
    """One object of a sync, and whether a requested reconciliation of it is still to end."""

    def __init__(self, requests: ReconcileRequests) -> None:
        self._requests = requests
        self._asked = self._waiting = False

    def look(self, found: Mapping[str, Any] | None, asks: bool, in_time: bool) -> tuple[SyncStatus, bool]:
        """Its status, and whether waiting longer would not change it.

        Args:
            found: the current object; None if it does not exist.
            asks: whether its status must be newer than what the update has changed.
            in_time: whether there is time left to wait for one.
        """
        if found is None:
            return NOT_RECONCILED, False
        status = status_of(found)
        if asks and not self._asked and self._is_out_of_date(found, status):
            self._asked = True
            self._waiting = not in_time or self._requests.request(found)
        elif self._waiting:
            self._waiting = not _has_answered(found)
        if not self._waiting:
            return status, status.settled
        # It was ready before the change; whether it still is, is not known.
        return NOT_RECONCILED if status.ready == "True" else status, False

    def _is_out_of_date(self, found: Mapping[str, Any], status: SyncStatus) -> bool:
        if _is_suspended(found):
            return False
        if not self._requests.renewed(*name_of_object(found)):
            return True
        # It was reconciled before its source had an artifact, or what it depends on was ready, and may not have noticed
        # that yet.
        return status.ready == "False" and _reason(found) in (ARTIFACT_FAILED, DEPENDENCY_NOT_READY)


def name_of_object(found: Mapping[str, Any]) -> ObjectName:
    """Kind, namespace and name of an object of the cluster."""
    return found["kind"], found["metadata"]["namespace"], found["metadata"]["name"]


def _reason(found: Mapping[str, Any] | None) -> str:
    """The reason of its `Ready` condition; empty if it has none."""
    reason: str = (found and _condition(found, "Ready") or {}).get("reason", "")
    return reason


def _revision(found: Mapping[str, Any] | None) -> str:
    """What a Kustomization or HelmRelease has applied last."""
    status = (found or {}).get("status", {})
    deployed = (each["chartVersion"] for each in status.get("history", ()) if each.get("status") == "deployed")
    return printable(status.get("lastAppliedRevision") or next(deployed, ""))


def _condition(found: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    conditions: Iterable[Mapping[str, Any]] = found.get("status", {}).get("conditions", ())
    return next((condition for condition in conditions if condition["type"] == kind), None)


def _is_suspended(found: Mapping[str, Any]) -> bool:
    return bool(found.get("spec", {}).get("suspend"))


def _without_scratch_folders(message: str) -> str:
    """A message with paths relative to the repository.

    Flux's controllers work in a temporary folder, which has another name at each attempt. It means nothing to the user
    and would change the stack's outputs with each update.
    """
    return _SCRATCH_FOLDER.sub(".", message)


def _has_answered(found: Mapping[str, Any]) -> bool:
    """Whether Flux has handled the latest request, so that a reconciliation that began after it has ended."""
    requested: str | None = found["metadata"].get("annotations", {}).get(REQUESTED_AT)
    return requested is not None and requested == found.get("status", {}).get("lastHandledReconcileAt")


def _as_of(condition: Mapping[str, Any], status: Mapping[str, Any]) -> datetime | None:
    """The latest known time of a condition.

    Flux does not update the time of a condition whose status stays the same. The last handled request is then newer; it
    is a time, unless a user has set the annotation to something else.
    """
    times = []
    for text in (condition.get("lastTransitionTime", ""), status.get("lastHandledReconcileAt", "")):
        try:
            times.append(datetime.fromisoformat(text).astimezone(UTC))
        except (ValueError, OverflowError):
            continue
    return max(times, default=None)


# Set at the end of each fetch, the ones that found nothing new included.
_STORED = "ArtifactInStorage"
# Set in either state once there is a commit to verify.
_VERIFIED = "SourceVerified"
_FAILED = "FetchFailed"


def not_fetched(source: Mapping[str, Any] | None) -> str | None:
    """Why it is not proven that a source of any kind has been fetched as it is now; None where it is.

    Ready proves nothing: it is true while a source is suspended, and false where the fetched commit is not signed.
    These conditions are set only after a checkout, each with the generation of the object that it is about, and a
    change of the `secretRef` is a new generation.

    Source: reconcileSource, reconcileArtifact and verifySignature in internal/controller of source-controller 1.9

    Args:
        source: the object as the cluster has it, or None.
    """
    if source is None:
        return "the source does not exist yet"
    generation = source["metadata"].get("generation")
    conditions = source.get("status", {}).get("conditions", ())
    current = {each["type"]: each for each in conditions if each.get("observedGeneration") == generation}
    if _VERIFIED in current or current.get(_STORED, {}).get("status") == "True":
        return None
    if current.get(_FAILED, {}).get("status") == "True":
        return printable(current[_FAILED].get("message", ""))
    return "the source is suspended" if source.get("spec", {}).get("suspend") else "not fetched yet"


_FETCH_REMEDIES = {
    "couldn't find remote ref|no match found for semver": (
        "the repository has no such branch or tag: correct it in the source, or push it"
    ),
    "remote repository is empty": "the repository has no commit yet: push one",
    "kustomization path not found": (
        "the repository has no such folder: correct `path` of the sync, or push the folder"
    ),
    # A host that knows the key answers with a sentence, which go-git takes for a packet of Git's protocol.
    "invalid pkt-len found|repository not found": (
        "the Git host knows the key: check that the repository exists, and that this key is registered there"
    ),
    # A host deletes the deploy keys of a repository with it.
    "ssh: unable to authenticate": (
        "the Git host does not know the key: check that the repository exists, and register the key there, or create "
        "another one with `flux-tenancy key deploy`"
    ),
    "knownhosts: key mismatch": (
        "the Git host has another key than git.knownHosts: compare it with the one that the host publishes, and "
        "correct the line"
    ),
}


def fetch_remedy(message: str) -> str:
    """What to do if Flux does not find a repository, branch or folder, or cannot log in; empty for any other reason.

    Source: gogit/clone.go in github.com/fluxcd/pkg/git 0.52, and kustomize-controller 1.9
    """
    found = (remedy for why, remedy in _FETCH_REMEDIES.items() if re.search(why, message, re.IGNORECASE))
    return next(found, "")
