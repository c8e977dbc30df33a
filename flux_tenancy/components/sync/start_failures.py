"""Why Pods of a tenant do not start, by the events of its namespaces, each with what to write.

Flux only reports that a Deployment is not ready.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from flux_tenancy.components.cluster.client import explaining, items
from flux_tenancy.components.config.printable import printable

if TYPE_CHECKING:
    from kubernetes import client

_LONGEST = 300


class StartFailure(NamedTuple):
    """Why a Pod or what creates Pods does not start, and what to write."""

    problem: str
    remedy: str


@dataclass(frozen=True)
class _Cause:
    """A kind of cause: the events that tell it, and what helps."""

    reasons: str
    message: str
    words: str
    remedy: str


# Source: the admission plugins podsecurity and resourcequota, pkg/kubelet/events, pkg/scheduler and
# pkg/controller/volume/persistentvolume of Kubernetes 1.36
_CAUSES = (
    _Cause(
        "FailedCreate",
        "violates PodSecurity",
        "Pod Security refuses its Pods",
        "set in the Pod template what the message names, or ask the platform team for another `podSecurity` of the "
        "namespace",
    ),
    _Cause(
        "FailedCreate",
        "exceeded quota",
        "a quota is full",
        "lower its requests or replicas, or ask the platform team for a higher `limits.quota`",
    ),
    _Cause(
        "FailedCreate",
        "must specify|(maximum|minimum) .* usage per",
        "its Pods lack requests or limits that the namespace requires, or exceed them",
        "set `resources` of each container as the message says",
    ),
    _Cause("FailedCreate", "", "its Pods are refused", "correct the Pod template as the message says"),
    _Cause(
        "Failed|BackOff|InspectFailed|ErrImageNeverPull",
        "(?i)image",
        "its image cannot be pulled",
        "check the image's name and tag, and `imagePullSecrets` of the Pod template",
    ),
    _Cause(
        "ProvisioningFailed|FailedBinding",
        "",
        "its volume is not created",
        "set a `storageClassName` that the cluster has: `kubectl get storageclass`",
    ),
    _Cause(
        "FailedScheduling",
        "(?i)persistentvolumeclaim",
        "a volume claim is missing, or waits for its volume",
        "create the claim, or set a `storageClassName` that the cluster has: `kubectl get storageclass`",
    ),
    _Cause(
        "FailedScheduling",
        "",
        "no node can run it",
        "lower its requests, or correct its nodeSelector, affinity and tolerations",
    ),
    _Cause(
        "FailedMount|FailedAttachVolume",
        "",
        "a volume cannot be mounted",
        "create the Secret, ConfigMap or claim that the message names",
    ),
)


def read_start_failures(api: client.ApiClient, namespaces: Iterable[str]) -> list[StartFailure]:
    """Why Pods of some namespaces do not start, by object and cause, the latest first.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
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
        known = (kind, namespace, cause.words + (message if kind == "Pod" else name))
        if known not in told:
            told.add(known)
            shown = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
            yield StartFailure(f"{kind} {namespace}/{name}: {cause.words}: {shown}", cause.remedy)


def _tells(cause: _Cause, reason: str, message: str) -> bool:
    return re.fullmatch(cause.reasons, reason) is not None and re.search(cause.message, message) is not None


def _time(event: Mapping[str, Any]) -> str:
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return next((str(each) for each in times if each), "")
