"""Sources and Kustomizations in the cluster: reading them, and requesting their reconciliation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from kubernetes import client
from kubernetes.dynamic.exceptions import NotFoundError

from components.cluster.client import ask, explaining, items, path_of
from components.sync.names import KUSTOMIZE_API, MANAGER, PLATFORM, SOURCE_API, TENANT_LABEL
from components.sync.status import REQUESTED_AT


@dataclass(frozen=True)
class FluxObjects:
    """Access to Flux's objects in a cluster. Each function raises ClusterUnavailable if it does not answer.

    Attributes:
        read: reads the sources and Kustomizations of the platform and of all tenants.
        request: requests the reconciliation of an object, with the time of the request.
        now: returns the cluster's time.
    """

    read: Callable[[], Iterable[Mapping[str, Any]]]
    request: Callable[[Mapping[str, Any], datetime], None]
    now: Callable[[], datetime]


def flux_objects(api: client.ApiClient) -> FluxObjects:
    """Access to the objects of a cluster."""
    return FluxObjects(partial(read_syncs, api), partial(request_reconciliation, api), partial(read_time, api))


def request_reconciliation(api: client.ApiClient, found: Mapping[str, Any], at: datetime) -> None:
    """Request the reconciliation of an object, as `flux reconcile` does; does nothing if the object is gone.

    The annotation has a field manager of its own, so that neither an update nor a refresh by Pulumi shows a change.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    request = {"metadata": {"annotations": {REQUESTED_AT: at.isoformat()}}}
    with explaining(api), suppress(NotFoundError):
        ask(api, "PATCH", path_of(found), request, fieldManager=MANAGER)


def read_time(api: client.ApiClient) -> datetime:
    """The time in the cluster.

    Raises:
        ClusterUnavailable: the cluster does not answer.
    """
    with explaining(api):
        return parsedate_to_datetime(ask(api, "GET", "/version/").headers["Date"])


class ClusterClock:
    """The cluster's time, read once and only on demand."""

    def __init__(self, read: Callable[[], datetime], clock: Callable[[], float] = time.monotonic) -> None:
        self._read, self._clock = read, clock
        self._began = clock()
        self._started: datetime | None = None

    @property
    def started(self) -> datetime:
        """The time at which this clock was created."""
        if self._started is None:
            self._started = self._read() - self._elapsed
        return self._started

    @property
    def now(self) -> datetime:
        return self.started + self._elapsed

    @property
    def _elapsed(self) -> timedelta:
        return timedelta(seconds=self._clock() - self._began)


def lasted(duration: timedelta) -> str:
    """A duration in the largest unit that is at least two, e.g. `95 seconds` or `3 minutes`."""
    seconds = max(0, int(duration.total_seconds()))
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}s"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def read_syncs(api: client.ApiClient) -> list[dict[str, Any]]:
    """The sources and Kustomizations of the platform and of all tenants, as the cluster has them.

    The list is empty if Flux is not installed yet.

    Raises:
        ClusterUnavailable: the cluster does not answer.
    """
    of_platform = f"namespaces/{PLATFORM.namespace}"
    with explaining(api):
        return [
            found
            for api_version, plural in ((SOURCE_API, "gitrepositories"), (KUSTOMIZE_API, "kustomizations"))
            for found in (
                *items(api, f"/apis/{api_version}/{plural}", labelSelector=TENANT_LABEL),
                *items(
                    api, f"/apis/{api_version}/{of_platform}/{plural}", fieldSelector=f"metadata.name={PLATFORM.name}"
                ),
            )
        ]
