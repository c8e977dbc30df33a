"""The progress of syncs at the end of an update: what it has changed, which syncs that concerns, and waiting for them.

The engine reports each object that it has created or updated through a resource hook, which costs nothing if nothing
changes and does not run in previews. None of them is a delete hook, for which `pulumi destroy` would need
`--run-program`.

Source: https://www.pulumi.com/docs/iac/concepts/resources/options/hooks/
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pulumi

from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.sync.status import (
    NOT_RECONCILED,
    REQUESTED_AT,
    ObjectName,
    Progress,
    Sync,
    SyncStatus,
    condition_of,
    is_suspended,
    name_of_object,
    status_of,
)
from flux_tenancy.components.vocabulary.names import (
    EXTERNAL_ARTIFACT,
    HELM_CHART,
    HELM_RELEASE,
    KUSTOMIZATION,
    PLATFORM_META,
    SOURCE_RESOURCES,
    TENANT_LABEL,
)

PLATFORM_TYPE = "flux-tenancy:index:PlatformSync"
_KUBERNETES = "kubernetes:"
# Not watched: they change together with the controllers that read them, and are large.
_DEFINITIONS = ("kubernetes:apiextensions.k8s.io/",)
# Kinds that Flux reconciles without a request when their spec changes.
_RECONCILED = frozenset({*SOURCE_RESOURCES, KUSTOMIZATION, HELM_RELEASE})


class Changes:
    """What the update has changed so far."""

    def __init__(self) -> None:
        self._syncs: set[str] = set()
        self._all = False
        self._renewed: set[ObjectName] = set()

    def concern(self, sync: str) -> bool:
        """Whether anything has changed that the status of a sync may depend on."""
        return self._all or sync in self._syncs

    def renewed(self, kind: str, namespace: str, name: str) -> bool:
        """Whether a Flux object was created or its spec changed, so that Flux reconciles it without a request."""
        return (kind, namespace, name) in self._renewed

    def note(self, changed: pulumi.ResourceHookArgs) -> None:
        """Record a created or updated object. This is the callback of the hook."""
        properties = changed.new_inputs or {}
        metadata = properties.get("metadata") or {}
        if PLATFORM_TYPE in changed.urn:
            self._syncs.add(PLATFORM_META.name)
        elif (tenant := (metadata.get("labels") or {}).get(TENANT_LABEL)) is not None:
            self._syncs.add(tenant)
        else:
            # Policies, controllers, roles: each may affect every sync.
            self._all = True
        if properties.get("kind") in _RECONCILED and _generation(changed.old_outputs) != _generation(
            changed.new_outputs
        ):
            self._renewed.add((properties["kind"], metadata["namespace"], metadata["name"]))


def watch_changes(register: Callable[..., pulumi.ResourceHook] = pulumi.ResourceHook) -> Changes:
    """Make the engine report what it changes. Call this before the first resource.

    Args:
        register: creates a hook from a name, a function and options.
    """
    changes = Changes()
    hook = register("changes", changes.note, pulumi.ResourceHookOptions(ignore_errors=True))
    hooks = pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(after_create=[hook], after_update=[hook]))

    def watched(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.startswith(_KUBERNETES) or args.type_.startswith(_DEFINITIONS):
            return None
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, hooks))

    pulumi.runtime.register_stack_transformation(watched)
    return changes


def _generation(outputs: Mapping[str, Any] | None) -> Any:
    return ((outputs or {}).get("metadata") or {}).get("generation")


POLL_SECONDS = 1.0
# Flux answers within seconds, unless it waits for a Git host or for an application to become healthy.
UNCONCERNED_SECONDS = 10.0
ARTIFACT_FAILED = "ArtifactFailed"
DEPENDENCY_NOT_READY = "DependencyNotReady"
# Source: reconcileRelease in internal/controller/helmrelease_controller.go of helm-controller 1.6
SOURCE_NOT_READY = "SourceNotReady"
# Source: checkHealth in internal/controller/kustomization_controller.go of kustomize-controller 1.9
HEALTH_STAGE = "Running health checks"
Key = TypeVar("Key", bound=Hashable)
# helm-controller creates the HelmChart, and others an ExternalArtifact, which has no label by which it is read. Until
# one is found, only what is applied from it can say what is missing.
_OF_OTHERS = (HELM_CHART, EXTERNAL_ARTIFACT)
NOT_FOUND = SyncStatus("True", "")
# It continues by itself as soon as what it waits for is ready.
_WAITING = frozenset({DEPENDENCY_NOT_READY, SOURCE_NOT_READY})


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
        if is_suspended(found):
            return False
        if not self._requests.renewed(*name_of_object(found)):
            return True
        # It was reconciled before its source had an artifact, or what it depends on was ready, and may not have noticed
        # that yet.
        return status.ready == "False" and _reason(found) in (ARTIFACT_FAILED, DEPENDENCY_NOT_READY)


def _reason(found: Mapping[str, Any] | None) -> str:
    """The reason of its `Ready` condition; empty if it has none."""
    reason: str = (found and condition_of(found, "Ready") or {}).get("reason", "")
    return reason


def _revision(found: Mapping[str, Any] | None) -> str:
    """What a Kustomization or HelmRelease has applied last."""
    status = (found or {}).get("status", {})
    deployed = (each["chartVersion"] for each in status.get("history", ()) if each.get("status") == "deployed")
    return printable(status.get("lastAppliedRevision") or next(deployed, ""))


def _has_answered(found: Mapping[str, Any]) -> bool:
    """Whether Flux has handled the latest request, so that a reconciliation that began after it has ended."""
    requested: str | None = found["metadata"].get("annotations", {}).get(REQUESTED_AT)
    return requested is not None and requested == found.get("status", {}).get("lastHandledReconcileAt")
