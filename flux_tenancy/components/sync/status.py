"""Flux's objects in the cluster: their status as Flux itself reports it, reading them, requesting their reconciliation,
and why Pods of a tenant do not start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from flux_tenancy.components.cluster.client import ask, explaining, items, path_of
from flux_tenancy.components.cluster.component import if_readable
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.config.yaml_files import data_of
from flux_tenancy.components.vocabulary.manifests import plural_of
from flux_tenancy.components.vocabulary.names import (
    APPLIED_SOURCES,
    GIT_REPOSITORY,
    HELM_API,
    HELM_CHART,
    HELM_RELEASE,
    KUSTOMIZATION,
    KUSTOMIZE_API,
    MANAGER,
    PLATFORM_META,
    SOURCE_API,
    TENANT_LABEL,
)

if TYPE_CHECKING:
    from kubernetes import client


# Source: https://pkg.go.dev/github.com/fluxcd/pkg/apis/meta#pkg-constants
HEALTH_CHECK_CANCELED = "HealthCheckCanceled"
# Source: MkdirTempAbs of kustomize-controller, TempDirForObj of source-controller
_SCRATCH_FOLDER = re.compile(r"(?<![\w./:-])(?:/[\w.-]+)*/(?:kustomization|gitrepository-[a-z0-9.-]+)-\d{4,}(?![\w.-])")
REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"
ObjectName = tuple[str, str, str]
"""Kind, namespace and name of an object."""


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


def status_of(found: Mapping[str, Any]) -> SyncStatus:
    """The status of a Flux object, as read from the API server. A status for an older generation does not count."""
    generation = found["metadata"].get("generation")
    if (condition := condition_of(found, "Ready")) is not None and condition.get(
        "observedGeneration", generation
    ) == generation:
        # A newer revision arrived during the health checks and is being applied.
        canceled = condition.get("reason") == HEALTH_CHECK_CANCELED
        ready = "Unknown" if canceled else condition["status"]
        # During a reconciliation, Flux reports its progress here.
        stage = (condition_of(found, "Reconciling") or {}).get("message") if ready == "Unknown" else None
        message = stage or condition.get("message", "")
        message = "" if ready == "True" else _without_scratch_folders(printable(message))
        return SyncStatus(ready, message, _as_of(condition, found["status"]))
    return SUSPENDED if is_suspended(found) else NOT_RECONCILED


def name_of_object(found: Mapping[str, Any]) -> ObjectName:
    """Kind, namespace and name of an object of the cluster."""
    return found["kind"], found["metadata"]["namespace"], found["metadata"]["name"]


def condition_of(found: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    conditions: Iterable[Mapping[str, Any]] = found.get("status", {}).get("conditions", ())
    return next((condition for condition in conditions if condition["type"] == kind), None)


def is_suspended(found: Mapping[str, Any]) -> bool:
    return bool(found.get("spec", {}).get("suspend"))


def _without_scratch_folders(message: str) -> str:
    """A message with paths relative to the repository.

    Flux's controllers work in a temporary folder, which has another name at each attempt. It means nothing to the user
    and would change the stack's outputs with each update.
    """
    return _SCRATCH_FOLDER.sub(".", message)


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


_LONGEST = 300


class StartFailure(NamedTuple):
    """Why a Pod or what creates Pods does not start, and what to write."""

    problem: str
    remedy: str


_CAUSES: Sequence[Mapping[str, str]] = data_of(__file__, "start_failures.yaml")


def read_start_failures(api: client.ApiClient, namespaces: Iterable[str]) -> list[StartFailure]:
    """Why Pods of some namespaces do not start, by object and cause, the latest first. Raises ClusterUnavailable."""
    with explaining(api):
        found = [
            event
            for namespace in namespaces
            # FailedBinding is no warning.
            for selector in ("type=Warning", "reason=FailedBinding")
            for event in items(api, f"/api/v1/namespaces/{namespace}/events", fieldSelector=selector)
        ]
    return list(dict.fromkeys(_failures(sorted(found, key=_time, reverse=True))))


def _failures(events: Iterable[Mapping[str, Any]]) -> Iterator[StartFailure]:
    told: set[tuple[str, str, str]] = set()
    for event in events:
        about, message = event.get("involvedObject") or {}, printable(str(event.get("message") or ""))
        cause = next((each for each in _CAUSES if _tells(each, str(event.get("reason")), message)), None)
        if cause is None:
            continue
        kind, namespace, name = (printable(str(about.get(key) or "")) for key in ("kind", "namespace", "name"))
        # A Pod that is replaced has another suffix and the same cause.
        known = (kind, namespace, cause["words"] + (message if kind == "Pod" else name))
        if known not in told:
            told.add(known)
            shown = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
            yield StartFailure(f"{kind} {namespace}/{name}: {cause['words']}: {shown}", cause["remedy"])


def _tells(cause: Mapping[str, str], reason: str, message: str) -> bool:
    return (
        re.fullmatch(cause["reasons"], reason) is not None and re.search(cause.get("message", ""), message) is not None
    )


def _time(event: Mapping[str, Any]) -> str:
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return next((str(each) for each in times if each), "")


ALWAYS = frozenset({GIT_REPOSITORY, KUSTOMIZATION})
"""The kinds that are read of every stack."""
_API_VERSIONS = {
    **dict.fromkeys((*APPLIED_SOURCES, HELM_CHART), SOURCE_API),
    KUSTOMIZATION: KUSTOMIZE_API,
    HELM_RELEASE: HELM_API,
}

ALL = frozenset(_API_VERSIONS)
"""The kinds that a tenant can be given by its configuration."""


@dataclass(frozen=True)
class FluxObjects:
    """Access to Flux's objects in a cluster. Each function raises ClusterUnavailable if it does not answer.

    Attributes:
        read: reads what the platform and all tenants fetch and apply.
        request: requests the reconciliation of an object, with the time of the request.
        start_failures: reads why Pods of some namespaces do not start.
        now: returns the current time.
    """

    read: Callable[[], Iterable[Mapping[str, Any]]]
    request: Callable[[Mapping[str, Any], datetime], None]
    start_failures: Callable[[Iterable[str]], Iterable[StartFailure]] = lambda namespaces: ()
    now: Callable[[], datetime] = partial(datetime.now, UTC)


def flux_objects(api: client.ApiClient, kinds: Iterable[str] = ALWAYS) -> FluxObjects:
    """Access to the objects of a cluster."""
    return FluxObjects(
        partial(read_syncs, api, kinds),
        partial(request_reconciliation, api),
        partial(read_start_failures, api),
    )


def request_reconciliation(api: client.ApiClient, found: Mapping[str, Any], at: datetime) -> None:
    """Request the reconciliation of an object, as `flux reconcile` does; does nothing if the object is gone.

    The annotation has a field manager of its own, so that neither an update nor a refresh by Pulumi shows a change.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    from kubernetes.dynamic.exceptions import NotFoundError

    request = {"metadata": {"annotations": {REQUESTED_AT: at.isoformat()}}}
    with explaining(api), suppress(NotFoundError):
        ask(api, "PATCH", path_of(found), request, fieldManager=MANAGER)


def lasted(duration: timedelta) -> str:
    """A duration in the largest unit that is at least two, e.g. `95 seconds` or `3 minutes`."""
    seconds = max(0, int(duration.total_seconds()))
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}s"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def read_syncs(api: client.ApiClient, kinds: Iterable[str] = ALWAYS) -> list[dict[str, Any]]:
    """What the platform and all tenants fetch and apply, as the cluster has it.

    The list is empty if Flux is not installed yet.

    Args:
        kinds: the kinds to read; only those of `ALWAYS` can be the platform's own.

    Raises:
        ClusterUnavailable: the cluster does not answer.
    """
    found: list[dict[str, Any]] = []
    for kind in sorted(kinds, key=list(_API_VERSIONS).index):
        read = partial(_read, api, kind)
        # Who may preview stacks need not be allowed to read what only some of them have.
        found += read() if kind in ALWAYS else if_readable(read, [])
    return found


def read_own_syncs(api: client.ApiClient, namespaces: Iterable[str]) -> list[dict[str, Any]]:
    """What a tenant itself has Flux fetch and apply in its namespaces, sources first. Raises ClusterUnavailable."""

    def read(path: str) -> list[dict[str, Any]]:
        with explaining(api):
            return list(items(api, path, labelSelector=f"!{TENANT_LABEL}"))

    paths = [
        f"/apis/{version}/namespaces/{namespace}/{plural_of(kind)}"
        for kind, version in _API_VERSIONS.items()
        for namespace in namespaces
    ]
    return [each for path in paths for each in if_readable(partial(read, path), [])]


def _read(api: client.ApiClient, kind: str) -> list[dict[str, Any]]:
    api_version, plural = _API_VERSIONS[kind], plural_of(kind)
    with explaining(api):
        found = items(api, f"/apis/{api_version}/{plural}", labelSelector=TENANT_LABEL)
        if kind in ALWAYS:
            path = f"/apis/{api_version}/namespaces/{PLATFORM_META.namespace}/{plural}"
            found += items(api, path, fieldSelector=f"metadata.name={PLATFORM_META.name}")
    return found
