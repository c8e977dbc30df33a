"""What is removed by force when a tenant's objects are not deleted in time: access, Flux's finalizers, pods."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.cluster.client import ask, explaining, items, patch_current
from flux_tenancy.components.vocabulary.manifests import RBAC_API, Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client


FLUX_FINALIZER = "finalizers.fluxcd.io"
_RBAC = f"/apis/{RBAC_API}"


@dataclass(frozen=True)
class DeletedSync:
    """A tenant's Kustomization or HelmRelease that is being deleted.

    Attributes:
        tenant: name of the tenant.
        namespace: the tenant's home.
        name: its name.
        account: the service account as which Flux deletes what it has applied.
    """

    tenant: str
    namespace: str
    name: str
    account: str

    @staticmethod
    def of(inputs: Any) -> DeletedSync:
        """The sync that was registered with these properties."""
        metadata = inputs["metadata"]
        tenant = metadata["labels"][TENANT_LABEL]
        return DeletedSync(tenant, metadata["namespace"], metadata["name"], inputs["spec"]["serviceAccountName"])


def bindings_of(api: client.ApiClient, tenant: str) -> list[Manifest]:
    """The role bindings that the platform has created for a tenant, which cannot set the label itself.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        return items(api, f"{_RBAC}/rolebindings", labelSelector=f"{TENANT_LABEL}={tenant}")


def remove_access(api: client.ApiClient, sync: DeletedSync) -> None:
    """Delete a tenant's role bindings and the service account of its sync.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        for each in (binding["metadata"] for binding in bindings_of(api, sync.tenant)):
            _delete(api, f"{_RBAC}/namespaces/{each['namespace']}/rolebindings/{each['name']}")
        _delete(api, f"/api/v1/namespaces/{sync.namespace}/serviceaccounts/{sync.account}")


def remove_finalizer(api: client.ApiClient, path: str) -> None:
    """Remove Flux's finalizer from an object that is being deleted; other finalizers stay.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    from kubernetes.dynamic.exceptions import NotFoundError

    with explaining(api), suppress(NotFoundError):
        patch_current(api, path, _without_finalizer)


def end_pods(api: client.ApiClient, namespace: str) -> None:
    """Delete the pods of a namespace that is being deleted at once, without the time that they asked for to end.

    Finalizers of pods stay.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        ask(api, "DELETE", f"/api/v1/namespaces/{namespace}/pods", gracePeriodSeconds="0")


def _without_finalizer(found: Mapping[str, Any]) -> Manifest:
    """The merge patch; with the version, a finalizer that somebody else has just added is a conflict and not lost."""
    metadata = found["metadata"]
    rest = [each for each in metadata.get("finalizers", ()) if each != FLUX_FINALIZER]
    return {"metadata": {"finalizers": rest, "resourceVersion": metadata.get("resourceVersion")}}


def _delete(api: client.ApiClient, path: str) -> None:
    from kubernetes.dynamic.exceptions import NotFoundError

    with suppress(NotFoundError):
        ask(api, "DELETE", path, propagationPolicy="Background")
