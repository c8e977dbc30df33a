"""Offboarding that a tenant cannot block: its access is removed first, and what blocks the rest is reported.

Flux prunes as the tenant's service account, so the sync is deleted while the account may still delete. If that takes
too long, the account and its role bindings are deleted anyway, and Flux's finalizer is removed: without the account
Flux cannot prune, and what it applied goes with the namespaces. Pods that take too long to end are deleted at once. For
a source, a Receiver or a Provider, Flux only cleans up its own copies, so their deletion does not wait for a controller
that is busy or backs off. None of this happens to an object whose deletion the cluster has refused.

These are error hooks and not delete hooks, for which `pulumi destroy` would need `--run-program`; without the program
the engine runs none of them.

In a delegated namespace, the tenant binds the account of its team itself, so the stack has no such binding. When the
tenant is leaving, before its access is deleted, its bindings there become dependents of the binding that let the tenant
write them, and Kubernetes deletes them with it: until then, Flux prunes as the team's account. What is found later is
deleted at once.

Source: https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents,
https://www.pulumi.com/docs/iac/concepts/resources/options/hooks/ and finalize in
internal/controller/kustomization_controller.go of kustomize-controller 1.9
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import (
    ClusterUnavailable,
    ask,
    delete,
    explaining,
    find_object,
    items,
    patch_current,
    path_of,
)
from flux_tenancy.components.cluster.hooks import in_thread
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.engine import log
from flux_tenancy.components.installs.flux.release import instance_of, lane_of
from flux_tenancy.components.plan import Deletion, Planned
from flux_tenancy.components.sync.status import request_reconciliation
from flux_tenancy.components.tenant.capsule.config import CAPSULE_TENANT_LABEL, TENANT
from flux_tenancy.components.tenant.leaving.remaining_objects import Held, NamespaceHolds, read_namespace_holds
from flux_tenancy.components.vocabulary.manifests import Manifest, is_terminating, name_of
from flux_tenancy.components.vocabulary.names import TENANT_LABEL, Controller

if TYPE_CHECKING:
    from kubernetes import client
from functools import partial

from flux_tenancy.components.engine.log import run_error
from flux_tenancy.components.tenant.identity import delegation_name
from flux_tenancy.components.vocabulary.manifests import RBAC_API

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.tenant.config import TenantConfig

OBJECT_HELD = Wording(
    "FT-TEN-016",
    "{before}{object} still exists",
    "check that {controller} is healthy. When nothing needs its finalizers, remove them with `kubectl edit` and run "
    "`pulumi up` again:{finalizers}",
)
OBJECT_NOT_DELETED = Wording(
    "FT-TEN-014", "{object} is not deleted: {reason}", "correct what the cluster says, and run the update again"
)

FLUX_FINALIZER = "finalizers.fluxcd.io"
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
        register: creates a hook from a name and a function.
    """

    def __init__(
        self,
        api: client.ApiClient,
        listed: Collection[str],
        register: Callable[[str, pulumi.ErrorHookFunction], pulumi.ErrorHook] = pulumi.ErrorHook,
    ) -> None:
        self._api, self._listed = api, frozenset(listed)
        self._hooks = {
            name: pulumi.ResourceHookBinding(on_error=[register(f"offboarding-{name}", self._if_late(retries))])
            for name, retries in (
                ("sync", self._retries_sync),
                ("namespace", self._retries_namespace),
                ("capsule", self._retries_capsule),
                ("part", self._retries_part),
            )
        }

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

    def _if_late(self, retries: Callable[[Manifest, int], bool]) -> pulumi.ErrorHookFunction:
        """The hook for a deletion that has begun. Of one that the cluster has refused, the engine tells the reason.

        Args:
            retries: does what ends the deletion of an object that has failed so many times, or reports what blocks it;
                returns whether the engine deletes it again, and raises ClusterUnavailable.
        """

        def late(manifest: Manifest, times: int) -> bool:
            try:
                found = find_object(self._api, manifest)
                return (found is None or is_terminating(found)) and retries(manifest, times)
            except ClusterUnavailable as error:
                log.error(OBJECT_NOT_DELETED(object=_label(manifest), reason=error))
                return False

        async def hook(failed: pulumi.ErrorHookArgs) -> bool:
            if failed.failed_operation != "delete" or failed.old_inputs is None:
                return False
            return await in_thread(late, dict(failed.old_inputs), len(failed.errors))

        return hook

    def _retries_sync(self, sync: Manifest, times: int) -> bool:
        tenant = sync["metadata"]["labels"][TENANT_LABEL]
        if tenant in self._listed:
            return False
        if times > 1:
            self._report_held(sync, f"tenant {tenant}: its access is removed, but ")
            return False
        remove_access(self._api, sync)
        remove_finalizer(self._api, path_of(sync))
        log.warn(
            Message(
                "FT-TEN-010",
                f"tenant {tenant}: Flux did not prune {_label(sync)} in time; its role bindings and service account "
                "are deleted now, and the objects that Flux applied are deleted with the namespaces",
            )
        )
        return True

    def _retries_part(self, part: Manifest, times: int) -> bool:
        if times > 2:
            self._report_held(part)
            return False
        late = f"{_controller_of(part)} has not removed its finalizer from {_label(part)}"
        if times == 1:
            request_reconciliation(self._api, part, datetime.now(UTC))
            asked = f"{late} within {_CLEANING_SECONDS} s; a reconciliation is requested, and the wait is repeated once"
            log.info(Message("FT-TEN-012", asked))
            return True
        remove_finalizer(self._api, path_of(part))
        log.warn(
            Message(
                "FT-TEN-013",
                f"{late} in {2 * _CLEANING_SECONDS} s. The finalizer was removed; the controller's copy is deleted "
                "when its pod restarts",
            )
        )
        return True

    def _report_held(self, manifest: Manifest, before: str = "") -> None:
        """Say what blocks the deletion of an object."""
        metadata = (find_object(self._api, manifest) or {"metadata": {}})["metadata"]
        held = Held(manifest["kind"].lower(), manifest["metadata"]["name"], tuple(metadata.get("finalizers", ())))
        listing = NamespaceHolds(manifest["metadata"]["namespace"], (held,)).listing
        fields = {"object": _label(manifest), "controller": _controller_of(manifest), "finalizers": listing}
        log.error(OBJECT_HELD(before=before, **fields))

    def _retries_namespace(self, namespace: Manifest, times: int) -> bool:
        return self._retries_namespace_of(namespace, namespace["metadata"]["name"], times)

    def _retries_capsule(self, tenant: Manifest, times: int) -> bool:
        """Capsule deletes a Tenant's namespaces with the Tenant."""
        selector = f"{CAPSULE_TENANT_LABEL}={tenant['metadata']['name']}"
        with explaining(self._api):
            found = items(self._api, "/api/v1/namespaces", labelSelector=selector)
        made = [each["metadata"]["name"] for each in found if is_terminating(each)]
        again = [self._retries_namespace_of(tenant, each, times) for each in made]
        return times < _ATTEMPTS and all(again)

    def _retries_namespace_of(self, manifest: Manifest, namespace: str, times: int) -> bool:
        """Do what ends a namespace whose deletion has taken too long, or say what blocks it.

        Args:
            manifest: the namespace or the Tenant of Capsule that is deleted. If its tenant stays, Flux may still have
                to prune what it applied from there elsewhere, so its finalizers do, too.
        """
        holds = read_namespace_holds(self._api, namespace)
        if holds is None:
            return True
        last = times >= _ATTEMPTS
        if holds.pods and not last:
            with explaining(self._api):
                ask(self._api, "DELETE", f"/api/v1/namespaces/{namespace}/pods", gracePeriodSeconds="0")
            log.warn(
                Message(
                    "FT-TEN-022",
                    f"namespace {namespace}: {len(holds.pods)} of its pods had not ended in time and were deleted "
                    "with a grace period of 0",
                )
            )
        stays = manifest["metadata"]["labels"].get(TENANT_LABEL) in self._listed
        of_flux = [] if stays else holds.only_by(FLUX_FINALIZER)
        if of_flux and not last:
            for each in of_flux:
                remove_finalizer(self._api, each.path)
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
            (log.warn if again else log.error)(held_message(holds))
        return again


def remove_finalizer(api: client.ApiClient, path: str) -> None:
    """Remove Flux's finalizer from an object that is being deleted; other finalizers stay.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    from kubernetes.dynamic.exceptions import NotFoundError

    def without(found: Mapping[str, Any]) -> Manifest:
        metadata = found["metadata"]
        rest = [each for each in metadata.get("finalizers", ()) if each != FLUX_FINALIZER]
        # With the version, a finalizer that somebody else has just added is a conflict and not lost.
        return {"metadata": {"finalizers": rest, "resourceVersion": metadata.get("resourceVersion")}}

    with explaining(api), suppress(NotFoundError):
        patch_current(api, path, without)


def held_message(holds: NamespaceHolds) -> Message:
    """What an admin has to know about a namespace whose deletion is blocked."""
    return Message(
        "FT-TEN-021",
        f"namespace {holds.namespace} is still being deleted, and the objects below block it",
        "when nothing needs their finalizers, remove them with `kubectl edit` and run `pulumi up` again; until then, "
        f"`pulumi up --continue-on-error` removes other tenants:{holds.listing}",
    )


def _deleted_within(timeout: float, hooks: pulumi.ResourceHookBinding | None) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(delete=f"{timeout:.0f}s"), hooks=hooks)


def _controller_of(manifest: Manifest) -> str:
    """The Deployment of the controller that removes the finalizer of a Flux object."""
    return instance_of(_CONTROLLERS[manifest["kind"]], lane_of(manifest))


def _label(manifest: Manifest) -> str:
    return f"{manifest['kind']} {name_of(manifest)}"


_RBAC = f"/apis/{RBAC_API}"


def bindings_of(api: client.ApiClient, tenant: str) -> list[Manifest]:
    """The role bindings that the platform has created for a tenant, which cannot set the label itself.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        return items(api, f"{_RBAC}/rolebindings", labelSelector=f"{TENANT_LABEL}={tenant}")


def remove_access(api: client.ApiClient, sync: Manifest) -> None:
    """Delete a tenant's role bindings and the service account of its sync.

    Args:
        sync: the tenant's Kustomization or HelmRelease, as it was registered.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    metadata, account = sync["metadata"], sync["spec"]["serviceAccountName"]
    with explaining(api):
        bindings = [each["metadata"] for each in bindings_of(api, metadata["labels"][TENANT_LABEL])]
        paths = [f"{_RBAC}/namespaces/{each['namespace']}/rolebindings/{each['name']}" for each in bindings]
        for path in (*paths, f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}"):
            delete(api, path, propagationPolicy="Background")


def end_team_access(api: client.ApiClient, tenants: Mapping[str, TenantConfig]) -> None:
    """Have the bindings of teams deleted whose tenants are leaving; a preview changes nothing.

    Raises:
        pulumi.RunError: the cluster refuses or does not answer.
    """
    if pulumi.runtime.is_dry_run():
        return
    try:
        with explaining(api):
            for name, tenant in tenants.items():
                for namespace in tenant.delegated_namespaces if tenant.is_leaving else ():
                    _end_access(api, name, namespace, tenant.namespace_names)
    except ClusterUnavailable as error:
        raise run_error(error) from None


def is_of_team(binding: Mapping[str, Any], namespaces: Collection[str]) -> bool:
    """Whether a RoleBinding is a tenant's own: not the platform's, and for nobody but accounts of its namespaces."""
    subjects = binding.get("subjects") or ()
    own = all(each["kind"] == "ServiceAccount" and each.get("namespace") in namespaces for each in subjects)
    return bool(subjects) and own and TENANT_LABEL not in (binding["metadata"].get("labels") or {})


def _end_access(api: client.ApiClient, tenant: str, namespace: str, namespaces: Collection[str]) -> None:
    from kubernetes.dynamic.exceptions import NotFoundError

    collection = f"{_RBAC}/namespaces/{namespace}/rolebindings"
    found = {each["metadata"]["name"]: each for each in items(api, collection)}
    given = found.get(delegation_name(tenant))
    for name, binding in found.items():
        if is_of_team(binding, namespaces):
            path = f"{collection}/{name}"
            with suppress(NotFoundError):
                if given is None:
                    ask(api, "DELETE", path)
                else:
                    patch_current(api, path, partial(_with_owner, given["metadata"]))


def _with_owner(given: Mapping[str, Any], binding: Mapping[str, Any]) -> Manifest:
    """The merge patch that makes a binding a dependent of the tenant's."""
    metadata = binding["metadata"]
    owner = {"apiVersion": RBAC_API, "kind": "RoleBinding", "name": given["name"], "uid": given["uid"]}
    # Kubernetes keeps a dependent as long as one of its owners is there.
    return {"metadata": {"ownerReferences": [owner], "resourceVersion": metadata["resourceVersion"]}}
