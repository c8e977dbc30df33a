"""Flux objects in the cluster: reading them, requesting their reconciliation, and why Pods of a tenant do not start."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from flux_tenancy.components.cluster.client import ask, explaining, items, path_of
from flux_tenancy.components.cluster.component import if_readable
from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.config.yaml_files import data_of
from flux_tenancy.components.sync.status import REQUESTED_AT
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
