"""The cluster's role bindings, and what tenants' accounts may do by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from components.cluster.client import explaining, get, items
from components.tenant.further_access import FurtherBinding, RoleReference, TenantAccess, further_access

if TYPE_CHECKING:
    from kubernetes import client

_RBAC = "/apis/rbac.authorization.k8s.io/v1"


def read_bindings(api: client.ApiClient) -> list[dict[str, Any]]:
    """All RoleBindings and ClusterRoleBindings of the cluster, each with its kind.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        return [
            {"kind": kind, **found}
            for kind, plural in (("ClusterRoleBinding", "clusterrolebindings"), ("RoleBinding", "rolebindings"))
            for found in items(api, f"{_RBAC}/{plural}")
        ]


def read_further_access(
    api: client.ApiClient, tenants: Mapping[str, TenantAccess], bindings: Sequence[Mapping[str, Any]] | None = None
) -> dict[str, list[FurtherBinding]]:
    """What tenants' accounts may do in addition to what the platform grants them.

    Args:
        api: a client for the cluster.
        tenants: what the platform grants, by tenant.
        bindings: all bindings of the cluster, if they have been read already.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    found = read_bindings(api) if bindings is None else bindings
    return further_access(tenants, found, lambda role: _read_rules(api, role))


def _read_rules(api: client.ApiClient, role: RoleReference) -> list[dict[str, Any]]:
    """The rules of a role; none if it does not exist."""
    from kubernetes.dynamic.exceptions import NotFoundError

    kind, namespace, name = role
    within = f"namespaces/{namespace}/" if namespace else ""
    with explaining(api):
        try:
            # A role may have almost any name.
            found = get(api, f"{_RBAC}/{within}{kind.lower()}s/{quote(name, safe='')}")
        except NotFoundError:
            return []
        rules: list[dict[str, Any]] = found.get("rules") or []
        return rules
