"""The access of a tenant that leaves: its own, and that of its teams.

Flux prunes as the tenant's service account, so the access goes after the sync; if pruning takes too long, it goes
anyway.

In a delegated namespace, the tenant binds the account of its team itself, so the stack has no such binding. When the
tenant is leaving, before its access is deleted, its bindings there become dependents of the binding that let the tenant
write them, and Kubernetes deletes them with it: until then, Flux prunes as the team's account. What is found later is
deleted at once.

Source: https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import ClusterUnavailable, ask, explaining, items, patch_current
from flux_tenancy.components.engine.log import run_error
from flux_tenancy.components.tenant.identity import delegation_name
from flux_tenancy.components.vocabulary.manifests import RBAC_API, Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.tenant.config import TenantConfig

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
        for each in (binding["metadata"] for binding in bindings_of(api, metadata["labels"][TENANT_LABEL])):
            _delete(api, f"{_RBAC}/namespaces/{each['namespace']}/rolebindings/{each['name']}")
        _delete(api, f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}")


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


def _delete(api: client.ApiClient, path: str) -> None:
    from kubernetes.dynamic.exceptions import NotFoundError

    with suppress(NotFoundError):
        ask(api, "DELETE", path, propagationPolicy="Background")
