"""The access of a team below a tenant that is leaving, which goes with the tenant's.

A tenant binds the account of its team itself (`components.tenant.delegation`), so the stack has no such binding. Before
the tenant's access is deleted, its bindings in a delegated namespace become dependents of the binding that let the
tenant write them, and Kubernetes deletes them with it: until then, Flux prunes as the team's account. What is found
later is deleted at once.

Source: https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pulumi

from components.cluster.client import ClusterUnavailable, ask, explaining, items, patch_current
from components.engine.log import run_error
from components.tenant.config import TenantConfig
from components.tenant.delegation import delegation_name
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client

_RBAC = "/apis/rbac.authorization.k8s.io/v1"


def end_team_access(api: client.ApiClient, tenants: Mapping[str, TenantConfig]) -> None:
    """Have the bindings of teams deleted whose tenants are leaving; a preview changes nothing.

    Args:
        api: a client for the cluster.
        tenants: the tenants of the stack.

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
    """Whether a RoleBinding is a tenant's own: not the platform's, and for nobody but accounts of its namespaces.

    Args:
        binding: the RoleBinding.
        namespaces: the tenant's namespaces.
    """
    subjects = binding.get("subjects") or ()
    own = all(each["kind"] == "ServiceAccount" and each.get("namespace") in namespaces for each in subjects)
    return bool(subjects) and own and TENANT_LABEL not in (binding["metadata"].get("labels") or {})


def _end_access(api: client.ApiClient, tenant: str, namespace: str, namespaces: Collection[str]) -> None:
    from kubernetes.dynamic.exceptions import NotFoundError

    path = f"{_RBAC}/namespaces/{namespace}/rolebindings"
    found = {each["metadata"]["name"]: each for each in items(api, path)}
    given = found.get(delegation_name(tenant))
    for name, binding in found.items():
        if is_of_team(binding, namespaces):
            with suppress(NotFoundError):
                if given is None:
                    ask(api, "DELETE", f"{path}/{name}")
                else:
                    patch_current(api, f"{path}/{name}", partial(_with_owner, given["metadata"]))


def _with_owner(given: Mapping[str, Any], binding: Mapping[str, Any]) -> Manifest:
    """The merge patch that makes a binding a dependent of the tenant's."""
    metadata = binding["metadata"]
    owner = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "name": given["name"],
        "uid": given["uid"],
    }
    # Kubernetes keeps a dependent as long as one of its owners is there.
    return {"metadata": {"ownerReferences": [owner], "resourceVersion": metadata["resourceVersion"]}}
