"""Offboarding that a tenant cannot hold: its access goes first, and what holds the rest is named.

Flux prunes as the tenant's service account, so the sync is deleted while that may still delete. Where this takes too
long, the account and its role bindings go all the same: Flux then lets go of the sync without pruning, and what it had
applied goes with the namespaces. These are error hooks and not delete hooks, for which `pulumi destroy` would need
`--run-program`; without the program the engine only lacks what they do.

Source: https://www.pulumi.com/docs/iac/concepts/resources/options/hooks/ and finalize in
internal/controller/kustomization_controller.go of kustomize-controller 1.9
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pulumi
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from components.kubernetes_api import ClusterUnavailable, ask, explaining, items
from components.kustomization import KUSTOMIZE_API
from components.namespace_holds import NamespaceHolds, read_namespace_holds
from components.tenant_objects import TENANT_LABEL
from components.waiting import in_thread

_BINDINGS = "/apis/rbac.authorization.k8s.io/v1"
# Of one namespace that is merely slow: nothing in it has finalizers.
_WAITS = 3


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

    async def _sync_stays(self, failed: pulumi.ErrorHookArgs) -> bool:
        if failed.failed_operation != "delete":
            return False
        sync = Sync.of(failed.old_inputs)
        if sync.tenant in self._listed:
            return False
        where = f"Kustomization {sync.namespace}/{sync.name}"
        if len(failed.errors) > 1:
            pulumi.log.error(
                f"tenant {sync.tenant}: {where} is still there, though its access is gone; look whether "
                "kustomize-controller is well, and run `pulumi up` again"
            )
            return False
        try:
            await in_thread(take_access, self._api, sync)
        except ClusterUnavailable as error:
            pulumi.log.error(f"tenant {sync.tenant}: {where} is not pruned, and its access stays: {error}")
            return False
        pulumi.log.warn(
            f"tenant {sync.tenant}: Flux has not pruned {where} in time; its role bindings and service account are "
            "deleted now, and what Flux had applied goes with the namespaces"
        )
        return True

    async def _namespace_stays(self, failed: pulumi.ErrorHookArgs) -> bool:
        if failed.failed_operation != "delete":
            return False
        try:
            holds = await in_thread(read_namespace_holds, self._api, failed.name)
        except ClusterUnavailable as error:
            pulumi.log.error(f"namespace {failed.name}: what holds it is not known: {error}")
            return False
        if holds:
            pulumi.log.error(held_message(holds, self._context))
            return False
        # It is gone by now, or what is in it only takes its time.
        return holds is None or len(failed.errors) < _WAITS


def take_access(api: client.ApiClient, sync: Sync) -> None:
    """Delete a tenant's role bindings and the service account of its sync, and have Flux look at the sync at once.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        bindings = items(api, f"{_BINDINGS}/rolebindings", labelSelector=f"{TENANT_LABEL}={sync.tenant}")
        for each in (binding["metadata"] for binding in bindings):
            _delete(api, f"{_BINDINGS}/namespaces/{each['namespace']}/rolebindings/{each['name']}")
        _delete(api, f"/api/v1/namespaces/{sync.namespace}/serviceaccounts/{sync.account}")
        request = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": datetime.now(UTC).isoformat()}}}
        path = f"/apis/{KUSTOMIZE_API}/namespaces/{sync.namespace}/kustomizations/{sync.name}"
        _unless_gone(ask(api, "PATCH", path, request))


def held_message(holds: NamespaceHolds, context: str | None) -> str:
    """What an admin has to know of a namespace that is held."""
    return (
        f"the namespace {holds.namespace} is being deleted and held; nobody has access to it any more. Once nothing "
        f"needs these finalizers, release it, and run `pulumi up` again:{holds.told(context)}"
    )


def _delete(api: client.ApiClient, path: str) -> None:
    _unless_gone(ask(api, "DELETE", path, propagationPolicy="Background"))


def _unless_gone(response: client.rest.RESTResponse) -> None:
    if response.status >= 300 and response.status != 404:
        raise ApiException(http_resp=response)
