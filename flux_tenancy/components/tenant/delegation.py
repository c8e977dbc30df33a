"""Namespaces that a tenant has delegated to a team of its own.

In such a namespace, Flux applies everything as the team's service account, which the tenant creates and binds. Two
bounds keep the team below the tenant: Kubernetes refuses roles and bindings with more rights than the tenant has in
this namespace, and the policies refuse any other account here.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping

The tenant binds the account of its team itself, so the stack has no such binding. When the tenant is leaving, before
its access is deleted, its bindings in a delegated namespace become dependents of the binding that let the tenant write
them, and Kubernetes deletes them with it: until then, Flux prunes as the team's account. What is found later is deleted
at once.

Source: https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import ClusterUnavailable, ask, explaining, items, patch_current
from flux_tenancy.components.engine.log import run_error
from flux_tenancy.components.plan.planned import Planned, Stage
from flux_tenancy.components.vocabulary.manifests import RBAC, RBAC_API, Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.tenant.config import TenantConfig
    from flux_tenancy.components.tenant.scope import TenantScope


# Neither `bind` nor `escalate`, which are for more rights than one's own.
_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


def delegation_name(tenant: str) -> str:
    """The name of the Role and RoleBinding by which a tenant gives rights to its teams."""
    return f"{tenant}-delegation"


def planned_delegation(tenant: TenantScope) -> Iterator[Planned]:
    """In each delegated namespace, the Role to create roles and role bindings there, and its binding to the tenant."""
    rule = {"apiGroups": [RBAC], "resources": ["rolebindings", "roles"], "verbs": list(_VERBS)}
    role = {"apiGroup": RBAC, "kind": "Role", "name": delegation_name(tenant.name)}
    for namespace in tenant.config.delegated_namespaces:
        yield Planned(Stage.CONTENT, _object(tenant.name, namespace, "Role") | {"rules": [rule]})
        binding = _object(tenant.name, namespace, "RoleBinding") | {"roleRef": role, "subjects": [tenant.subject]}
        yield Planned(Stage.ACCESS, binding)


def _object(tenant: str, namespace: str, kind: str) -> Manifest:
    metadata = {"name": delegation_name(tenant), "namespace": namespace, "labels": {TENANT_LABEL: tenant}}
    return {"apiVersion": RBAC_API, "kind": kind, "metadata": metadata}


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

    collection = f"/apis/{RBAC_API}/namespaces/{namespace}/rolebindings"
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
