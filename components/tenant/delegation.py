"""Namespaces that a tenant has delegated to a team of its own.

In such a namespace, Flux applies everything as the team's service account, which the tenant creates and binds. Two
bounds keep the team below the tenant: Kubernetes refuses roles and bindings with more rights than the tenant has in
this namespace, and the policies refuse any other account here.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
"""

from __future__ import annotations

from collections.abc import Iterator

from components.plan.planned import Planned, Stage
from components.tenant.scope import TenantScope
from components.vocabulary.manifests import Manifest
from components.vocabulary.names import TENANT_LABEL

_RBAC = "rbac.authorization.k8s.io"
# Neither `bind` nor `escalate`, which are for more rights than one's own.
_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


def delegation_name(tenant: str) -> str:
    """The name of the Role and RoleBinding by which a tenant gives rights to its teams."""
    return f"{tenant}-delegation"


def planned_delegation(tenant: TenantScope) -> Iterator[Planned]:
    """In each delegated namespace, the Role to create roles and role bindings there, and its binding to the tenant."""
    rule = {"apiGroups": [_RBAC], "resources": ["rolebindings", "roles"], "verbs": list(_VERBS)}
    role = {"apiGroup": _RBAC, "kind": "Role", "name": delegation_name(tenant.name)}
    for namespace in tenant.config.delegated_namespaces:
        yield Planned(Stage.CONTENT, _object(tenant.name, namespace, "Role") | {"rules": [rule]})
        binding = _object(tenant.name, namespace, "RoleBinding") | {"roleRef": role, "subjects": [tenant.subject]}
        yield Planned(Stage.ACCESS, binding)


def _object(tenant: str, namespace: str, kind: str) -> Manifest:
    metadata = {"name": delegation_name(tenant), "namespace": namespace, "labels": {TENANT_LABEL: tenant}}
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata}
