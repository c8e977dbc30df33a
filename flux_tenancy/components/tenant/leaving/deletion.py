"""Offboarding that a tenant cannot block: its access is removed first, and what blocks the rest is reported.

Flux prunes as the tenant's service account, so the sync is deleted while the account may still delete. If that takes
too long, the account and its role bindings are deleted anyway, and Flux's finalizer is removed: without the account
Flux cannot prune, and what it applied goes with the namespaces. Pods that take too long to end are deleted at once. For
a source, a Receiver or a Provider, Flux only cleans up its own copies, so their deletion does not wait for a controller
that is busy or backs off. None of this happens to an object whose deletion the cluster has refused.

These are error hooks and not delete hooks, for which `pulumi destroy` would need `--run-program`; without the program
the engine runs none of them.

Source: https://www.pulumi.com/docs/iac/concepts/resources/options/hooks/ and finalize in
internal/controller/kustomization_controller.go of kustomize-controller 1.9
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import ClusterUnavailable, explaining, find_object, items, path_of
from flux_tenancy.components.cluster.hooks import in_thread
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.engine import log
from flux_tenancy.components.installs.flux.lanes import instance_of, lane_of
from flux_tenancy.components.plan.planned import Deletion, Planned
from flux_tenancy.components.sync.flux_objects import request_reconciliation
from flux_tenancy.components.tenant.capsule.names import CAPSULE_TENANT_LABEL, TENANT
from flux_tenancy.components.tenant.leaving.blocked_namespaces import (
    FLUX_FINALIZER,
    DeletedSync,
    Held,
    NamespaceHolds,
    end_pods,
    read_namespace_holds,
    remove_access,
    remove_finalizer,
)
from flux_tenancy.components.vocabulary.manifests import is_terminating, name_of
from flux_tenancy.components.vocabulary.names import TENANT_LABEL, Controller

if TYPE_CHECKING:
    from kubernetes import client

OBJECT_HELD = Wording(
    "FT-TEN-016",
    "{before}{object} still exists",
    "check that {controller} is healthy. When nothing needs its finalizers, remove them and run `pulumi up` "
    "again:{finalizers}",
)
OBJECT_NOT_DELETED = Wording(
    "FT-TEN-014", "{object} is not deleted: {reason}", "correct what the cluster says, and run the update again"
)

# Attempts to delete a namespace that is only slow: Kubernetes itself removes the finalizers in it.
_ATTEMPTS = 3
# A healthy controller needs less than a second. After an error it retries with a back-off, which has grown to minutes
# if the source has failed before; on request it reconciles at once.
# Source: AddWithOpts in pkg/controller/priorityqueue/priorityqueue.go of controller-runtime 0.24
_CLEANING_SECONDS = 60
_CONTROLLERS = {
    "GitRepository": Controller.SOURCE,
    "HelmRelease": Controller.HELM,
    "Kustomization": Controller.KUSTOMIZE,
    "Provider": Controller.NOTIFICATION,
    "Receiver": Controller.NOTIFICATION,
}


class Offboarding:
    """The error hooks that the engine runs when an object of a tenant is not deleted in time.

    The state of each resource names its hooks, so they are registered in every run.

    Args:
        listed: the tenants that the stack lists and that are not leaving; these keep their access.
        context: kubectl's context for the cluster; None for the current one.
        register: creates a hook from a name and a function.
    """

    def __init__(
        self,
        api: client.ApiClient,
        listed: Collection[str],
        context: str | None,
        register: Callable[[str, pulumi.ErrorHookFunction], pulumi.ErrorHook] = pulumi.ErrorHook,
    ) -> None:
        self._api, self._listed, self._context = api, frozenset(listed), context
        hooks = {
            name: pulumi.ResourceHookBinding(on_error=[register(f"offboarding-{name}", self._if_late(stays))])
            for name, stays in (
                ("sync", self._sync_stays),
                ("namespace", self._namespace_stays),
                ("capsule", self._capsule_stays),
                ("part", self._part_stays),
            )
        }
        self._hooks = hooks

    def options(self, planned: Planned, patience: float) -> pulumi.ResourceOptions:
        """How long the deletion of a tenant's object may take, and what the engine runs if it takes longer.

        Args:
            patience: how long a deletion may take that waits for others, in seconds.
        """
        match planned.deletion:
            case Deletion.CLEANED:
                return _deleted_within(_CLEANING_SECONDS, self._hooks["part"])
            case Deletion.PRUNED:
                # Flux prunes within the sync's own timeout; Pulumi waits longer.
                return _deleted_within(seconds(planned.manifest["spec"]["timeout"]) + patience, self._hooks["sync"])
            case Deletion.EMPTIED:
                hooks = {"Namespace": self._hooks["namespace"], TENANT: self._hooks["capsule"]}
                return _deleted_within(patience, hooks.get(planned.kind))
            case Deletion.IMMEDIATE:
                return pulumi.ResourceOptions()

    def _if_late(
        self, stays: Callable[[pulumi.ErrorHookArgs], Awaitable[bool]]
    ) -> Callable[[pulumi.ErrorHookArgs], Awaitable[bool]]:
        """The hook for a deletion that has begun. Of one that the cluster has refused, the engine tells the reason."""

        async def hook(failed: pulumi.ErrorHookArgs) -> bool:
            if failed.failed_operation != "delete" or failed.old_inputs is None:
                return False
            manifest: Any = failed.old_inputs
            try:
                found = await in_thread(find_object, self._api, manifest)
            except ClusterUnavailable as error:
                log.error(OBJECT_NOT_DELETED(object=_label(manifest), reason=error))
                return False
            return (found is None or is_terminating(found)) and await stays(failed)

        return hook

    async def _sync_stays(self, failed: pulumi.ErrorHookArgs) -> bool:
        sync = DeletedSync.of(failed.old_inputs)
        if sync.tenant in self._listed:
            return False
        if len(failed.errors) > 1:
            log.error(await in_thread(self._held, failed.old_inputs, sync.tenant))
            return False
        try:
            await in_thread(remove_access, self._api, sync)
            await in_thread(remove_finalizer, self._api, path_of(failed.old_inputs or {}))
        except ClusterUnavailable as error:
            log.error(
                OBJECT_NOT_DELETED(object=_label(failed.old_inputs), reason=f"the tenant's access may remain: {error}")
            )
            return False
        log.warn(
            Message(
                "FT-TEN-010",
                f"tenant {sync.tenant}: Flux did not prune {_label(failed.old_inputs)} in time; its role bindings "
                "and service account are deleted now, and the objects that Flux applied are deleted with the "
                "namespaces",
            )
        )
        return True

    async def _part_stays(self, failed: pulumi.ErrorHookArgs) -> bool:
        part: Any = failed.old_inputs
        try:
            match len(failed.errors):
                case 1:
                    await in_thread(request_reconciliation, self._api, part, datetime.now(UTC))
                    log.info(
                        Message(
                            "FT-TEN-012",
                            f"{_controller_of(part)} has not removed its finalizer from {_label(part)} "
                            f"within {_CLEANING_SECONDS} s; a reconciliation is requested, and the wait is "
                            "repeated once",
                        )
                    )
                case 2:
                    await in_thread(remove_finalizer, self._api, path_of(part))
                    log.warn(
                        Message(
                            "FT-TEN-013",
                            f"{_controller_of(part)} has not removed its finalizer from {_label(part)} in "
                            f"{2 * _CLEANING_SECONDS} s. The finalizer was removed; the controller's copy is "
                            "deleted when its pod restarts",
                        )
                    )
                case _:
                    log.error(await in_thread(self._held, part))
                    return False
        except ClusterUnavailable as error:
            log.error(OBJECT_NOT_DELETED(object=_label(part), reason=error))
            return False
        return True

    def _stays(self, namespace: Any) -> bool:
        """Whether a namespace's tenant is still listed: Flux may have to prune what it applied from there elsewhere."""
        return namespace["metadata"]["labels"].get(TENANT_LABEL) in self._listed

    def _held(self, manifest: Any, tenant: str = "") -> Message:
        """What blocks the deletion of an object, with the command that removes its finalizers.

        Args:
            tenant: the tenant whose access is removed already; empty if none is.
        """
        try:
            found = find_object(self._api, manifest) or {"metadata": {}}
        except ClusterUnavailable as error:
            return OBJECT_NOT_DELETED(object=_label(manifest), reason=f"cannot read its finalizers: {error}")
        kind, metadata = manifest["kind"], manifest["metadata"]
        held = Held(kind.lower(), metadata["name"], tuple(found["metadata"].get("finalizers", ())))
        finalizers = NamespaceHolds(metadata["namespace"], (held,)).listing(self._context)
        fields = {"object": _label(manifest), "controller": _controller_of(manifest), "finalizers": finalizers}
        return OBJECT_HELD(before=f"tenant {tenant}: its access is removed, but " if tenant else "", **fields)

    async def _namespace_stays(self, failed: pulumi.ErrorHookArgs) -> bool:
        return await self._retried(failed.name, self._stays(failed.old_inputs), len(failed.errors))

    async def _capsule_stays(self, failed: pulumi.ErrorHookArgs) -> bool:
        tenant: Any = failed.old_inputs
        times, stays = len(failed.errors), self._stays(tenant)
        try:
            made = await in_thread(_ending_namespaces, self._api, tenant["metadata"]["name"])
        except ClusterUnavailable as error:
            log.error(OBJECT_NOT_DELETED(object=_label(tenant), reason=error))
            return False
        again = [await self._retried(each, stays, times) for each in made]
        return times < _ATTEMPTS and all(again)

    async def _retried(self, namespace: str, stays: bool, times: int) -> bool:
        """Do what ends a namespace whose deletion has taken too long, or say what blocks it.

        Args:
            stays: whether its tenant does.

        Returns:
            Whether to delete it again.
        """
        try:
            holds = await in_thread(read_namespace_holds, self._api, namespace)
        except ClusterUnavailable as error:
            log.error(
                OBJECT_NOT_DELETED(
                    object=f"namespace {namespace}", reason=f"cannot read the objects that block it: {error}"
                )
            )
            return False
        if holds is None:
            return True
        last = times >= _ATTEMPTS
        if holds.pods and not last:
            try:
                await in_thread(end_pods, self._api, namespace)
            except ClusterUnavailable as error:
                log.error(
                    OBJECT_NOT_DELETED(
                        object=f"namespace {namespace}", reason=f"cannot delete the pods that have not ended: {error}"
                    )
                )
                return False
            log.warn(
                Message(
                    "FT-TEN-022",
                    f"namespace {namespace}: {len(holds.pods)} of its pods had not ended in time and were deleted "
                    "with a grace period of 0",
                )
            )
        of_flux = [] if stays else holds.only_by(FLUX_FINALIZER)
        if of_flux and not last:
            try:
                for each in of_flux:
                    await in_thread(remove_finalizer, self._api, each.path)
            except ClusterUnavailable as error:
                log.error(
                    OBJECT_NOT_DELETED(
                        object=f"namespace {namespace}", reason=f"cannot remove Flux's finalizers: {error}"
                    )
                )
                return False
            log.warn(
                Message(
                    "FT-TEN-020",
                    f"namespace {namespace}: Flux did not finalize {len(of_flux)} of its objects in time; their "
                    "finalizers were removed, because nobody has access any more",
                )
            )
            return True
        again = holds.only_by_kubernetes and not last
        if holds or last:
            (log.warn if again else log.error)(held_message(holds, self._context))
        return again


def _deleted_within(timeout: float, hooks: pulumi.ResourceHookBinding | None) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(delete=f"{timeout:.0f}s"), hooks=hooks)


def _ending_namespaces(api: client.ApiClient, tenant: str) -> list[str]:
    """The namespaces of a Tenant of Capsule whose deletion has begun and not ended. Raises ClusterUnavailable."""
    with explaining(api):
        found = items(api, "/api/v1/namespaces", labelSelector=f"{CAPSULE_TENANT_LABEL}={tenant}")
        return [each["metadata"]["name"] for each in found if is_terminating(each)]


def held_message(holds: NamespaceHolds, context: str | None) -> Message:
    """What an admin has to know about a namespace whose deletion is blocked."""
    return Message(
        "FT-TEN-021",
        f"namespace {holds.namespace} is still being deleted, and the objects below block it",
        "when nothing needs their finalizers, remove them and run `pulumi up` again; until then, `pulumi up "
        f"--continue-on-error` removes other tenants:{holds.listing(context)}",
    )


def _controller_of(manifest: Any) -> str:
    """The Deployment of the controller that removes the finalizer of a Flux object."""
    return instance_of(_CONTROLLERS[manifest["kind"]], lane_of(manifest))


def _label(manifest: Any) -> str:
    return f"{manifest['kind']} {name_of(manifest)}"
