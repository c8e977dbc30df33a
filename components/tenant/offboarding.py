"""Offboarding that a tenant cannot hold: its access goes first, and what holds the rest is named.

Flux prunes as the tenant's service account, so the sync is deleted while that may still delete. Where this takes too
long, the account and its role bindings go all the same, and Flux's finalizer with them: there is nothing that it could
still prune, and what it had applied goes with the namespaces. Of a source or a Receiver, Flux has to clean up no more
than its own copies; such an object does not wait until a controller that is busy, or backs off, comes to it. These are
error hooks and not delete hooks, for which `pulumi destroy` would need `--run-program`; without the program the engine
only lacks what they do.

Source: https://www.pulumi.com/docs/iac/concepts/resources/options/hooks/ and finalize in
internal/controller/kustomization_controller.go of kustomize-controller 1.9
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pulumi
from kubernetes import client
from kubernetes.dynamic.exceptions import NotFoundError

from components.cluster.client import ClusterUnavailable, ask, explaining, find_object, get, items, path_of
from components.cluster.manifests import name_of
from components.cluster.namespace_holds import Held, NamespaceHolds, read_namespace_holds
from components.cluster.waiting import in_thread
from components.sync.names import TENANT_LABEL

_BINDINGS = "/apis/rbac.authorization.k8s.io/v1"
# Of one namespace that is merely slow: nothing in it has finalizers.
_WAITS = 3
_FLUX_FINALIZER = "finalizers.fluxcd.io"
_SELF_CLEANED = frozenset({"GitRepository", "Receiver"})
# A controller that is well needs less than one. One that met an error comes back after its back-off, which has grown to
# minutes where the source has failed before; asked, it looks at once.
# Source: AddWithOpts in pkg/controller/priorityqueue/priorityqueue.go of controller-runtime 0.24
_CLEANING_SECONDS = 60
_CONTROLLERS = {
    "GitRepository": "source-controller",
    "Kustomization": "kustomize-controller",
    "Receiver": "notification-controller",
}


@dataclass(frozen=True)
class Sync:
    """A tenant's Kustomization, as it is deleted.

    Attributes:
        tenant: whose it is.
        namespace: the tenant's home.
        name: its name.
        account: the service account as which Flux prunes.
    """

    tenant: str
    namespace: str
    name: str
    account: str

    @staticmethod
    def of(inputs: Any) -> Sync:
        """The sync that was registered with these properties."""
        metadata = inputs["metadata"]
        tenant = metadata["labels"][TENANT_LABEL]
        return Sync(tenant, metadata["namespace"], metadata["name"], inputs["spec"]["serviceAccountName"])


class Offboarding:
    """What the engine asks when a tenant's sync or namespace cannot be deleted in time.

    The hooks are in the state of each resource by their names, so they are registered in every run.

    Args:
        api: a client for the cluster.
        listed: the tenants that the stack lists; these keep their access.
        context: kubectl's context for the cluster; None for the current one.
        register: makes a hook of a name and a function.

    Attributes:
        of_sync: the hooks of each tenant's Kustomization.
        of_namespace: the hooks of each of its namespaces.
        of_parts: what its source and its Receiver get among their options.
    """

    def __init__(
        self,
        api: client.ApiClient,
        listed: Collection[str],
        context: str | None,
        register: Callable[[str, pulumi.ErrorHookFunction], pulumi.ErrorHook] = pulumi.ErrorHook,
    ) -> None:
        self._api, self._listed, self._context = api, frozenset(listed), context
        sync = register("offboarding-sync", self._sync_stays)
        namespace = register("offboarding-namespace", self._namespace_stays)
        self.of_sync = pulumi.ResourceHookBinding(on_error=[sync])
        self.of_namespace = pulumi.ResourceHookBinding(on_error=[namespace])
        part = pulumi.ResourceOptions(
            custom_timeouts=pulumi.CustomTimeouts(delete=f"{_CLEANING_SECONDS}s"),
            hooks=pulumi.ResourceHookBinding(on_error=[register("offboarding-part", self._part_stays)]),
        )

        def bind(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
            if not isinstance(args.props, dict) or args.props.get("kind") not in _SELF_CLEANED:
                return None
            return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, part))

        self.of_parts: pulumi.ResourceTransformation = bind

    async def _sync_stays(self, failed: pulumi.ErrorHookArgs) -> bool:
        if failed.failed_operation != "delete":
            return False
        sync = Sync.of(failed.old_inputs)
        if sync.tenant in self._listed:
            return False
        where = f"Kustomization {sync.namespace}/{sync.name}"
        if len(failed.errors) > 1:
            await in_thread(self._tell_held, failed.old_inputs, f"tenant {sync.tenant}: its access is gone, and still")
            return False
        try:
            await in_thread(take_access, self._api, sync)
            await in_thread(release, self._api, path_of(failed.old_inputs or {}))
        except ClusterUnavailable as error:
            pulumi.log.error(f"tenant {sync.tenant}: {where} is not pruned, and its access may stay: {error}")
            return False
        pulumi.log.warn(
            f"tenant {sync.tenant}: Flux has not pruned {where} in time; its role bindings and service account are "
            "deleted now, and what Flux had applied goes with the namespaces"
        )
        return True

    async def _part_stays(self, failed: pulumi.ErrorHookArgs) -> bool:
        if failed.failed_operation != "delete":
            return False
        part: Any = failed.old_inputs
        where = f"{part['kind']} {name_of(part)}"
        controller = _CONTROLLERS[part["kind"]]
        try:
            match len(failed.errors):
                case 1:
                    await in_thread(ask_flux, self._api, path_of(part))
                    pulumi.log.info(
                        f"{controller} has not let go of {where} within {_CLEANING_SECONDS} s; it is asked to look at "
                        "it, and gets as long again"
                    )
                case 2:
                    await in_thread(release, self._api, path_of(part))
                    pulumi.log.warn(
                        f"{controller} has not let go of {where} in {2 * _CLEANING_SECONDS} s; it is deleted without. "
                        "What the controller had stored of it goes when its pod restarts"
                    )
                case _:
                    await in_thread(self._tell_held, part, "still")
                    return False
        except ClusterUnavailable as error:
            pulumi.log.error(f"{where} is not deleted: {error}")
            return False
        return True

    def _stays(self, namespace: Any) -> bool:
        """Whether a namespace's tenant is still listed: Flux may have to prune what it applied from there elsewhere."""
        return namespace is None or namespace["metadata"]["labels"].get(TENANT_LABEL) in self._listed

    def _tell_held(self, manifest: Any, told: str) -> None:
        """Say what holds an object, and the command that releases it."""
        where = f"{manifest['kind']} {name_of(manifest)}"
        try:
            found = find_object(self._api, manifest) or {"metadata": {}}
        except ClusterUnavailable as error:
            pulumi.log.error(f"{told} {where} is there; what holds it is not known: {error}")
            return
        metadata = manifest["metadata"]
        held = Held(manifest["kind"].lower(), metadata["name"], tuple(found["metadata"].get("finalizers", ())))
        pulumi.log.error(
            f"{told} {where} is there; look whether {_CONTROLLERS[manifest['kind']]} is well. Once nothing needs its "
            f"finalizers, release it, and run `pulumi up` again:"
            f"{NamespaceHolds(metadata['namespace'], (held,)).told(self._context)}"
        )

    async def _namespace_stays(self, failed: pulumi.ErrorHookArgs) -> bool:
        if failed.failed_operation != "delete":
            return False
        try:
            holds = await in_thread(read_namespace_holds, self._api, failed.name)
        except ClusterUnavailable as error:
            pulumi.log.error(f"namespace {failed.name}: what holds it is not known: {error}")
            return False
        of_flux = [] if holds is None or self._stays(failed.old_inputs) else holds.only_by(_FLUX_FINALIZER)
        if of_flux and len(failed.errors) < _WAITS:
            try:
                for each in of_flux:
                    await in_thread(release, self._api, each.path)
            except ClusterUnavailable as error:
                pulumi.log.error(f"namespace {failed.name}: what Flux holds in it is not released: {error}")
                return False
            pulumi.log.warn(
                f"namespace {failed.name}: Flux has not finalized {len(of_flux)} of its objects there in time; they "
                "are deleted without, as nobody has access to them any more"
            )
            return True
        if holds:
            pulumi.log.error(held_message(holds, self._context))
            return False
        # It is gone by now, or what is in it only takes its time.
        return holds is None or len(failed.errors) < _WAITS


def take_access(api: client.ApiClient, sync: Sync) -> None:
    """Delete a tenant's role bindings and the service account of its sync.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        bindings = items(api, f"{_BINDINGS}/rolebindings", labelSelector=f"{TENANT_LABEL}={sync.tenant}")
        for each in (binding["metadata"] for binding in bindings):
            _delete(api, f"{_BINDINGS}/namespaces/{each['namespace']}/rolebindings/{each['name']}")
        _delete(api, f"/api/v1/namespaces/{sync.namespace}/serviceaccounts/{sync.account}")


def ask_flux(api: client.ApiClient, path: str) -> None:
    """Have Flux look at an object at once, unless it is gone.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    request = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": datetime.now(UTC).isoformat()}}}
    with explaining(api), suppress(NotFoundError):
        ask(api, "PATCH", path, request)


def release(api: client.ApiClient, path: str) -> None:
    """Take Flux's finalizer off an object that is being deleted; others stay.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api), suppress(NotFoundError):
        metadata = get(api, path)["metadata"]
        rest = [each for each in metadata.get("finalizers", ()) if each != _FLUX_FINALIZER]
        # The version keeps apart what another has just put there.
        seen = {"metadata": {"finalizers": rest, "resourceVersion": metadata.get("resourceVersion")}}
        ask(api, "PATCH", path, seen)


def held_message(holds: NamespaceHolds, context: str | None) -> str:
    """What an admin has to know of a namespace that is held."""
    return (
        f"the namespace {holds.namespace} is being deleted and held; nobody has access to it any more. Once nothing "
        f"needs these finalizers, release it, and run `pulumi up` again:{holds.told(context)}"
    )


def _delete(api: client.ApiClient, path: str) -> None:
    with suppress(NotFoundError):
        ask(api, "DELETE", path, propagationPolicy="Background")
