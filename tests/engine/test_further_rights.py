"""What tenants may do in addition to their role, read from a real API server with its own bindings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from flux_tenancy.components.cluster.client import ClusterUnavailable, connect
from flux_tenancy.components.cluster.config import ClusterConfig
from flux_tenancy.components.tenant.further_access import TenantAccess, read_further_access
from flux_tenancy.components.tenant.identity import role_binding
from flux_tenancy.components.tenant.role import Role, tenant_role
from flux_tenancy.components.tenant.tenancy_config import TenancyConfig
from lab.build import ensure
from lab.free_ports import free_port_base
from lab.settings import Settings
from tests.support.api_server import TOOLS, ApiServer

RBAC = {"apiVersion": "rbac.authorization.k8s.io/v1"}
OWN = role_binding("dev-team", "apps", "apps", Role.TENANT, "dev-team")
TENANTS = {"dev-team": TenantAccess(["apps"], [OWN])}
ACCOUNT = OWN["subjects"][0]
# The API server takes almost any text for the name of a role.
ROLE = "reads nodes\x1b[31m"


def binding(name: str, role: str, subject: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    return {
        **RBAC,
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server with a tenant that has the role that the platform gives it, and nothing else."""
    running = ApiServer(tmp_path_factory.mktemp("api"), free_port_base(0))
    running.start(ensure(Settings.load(), [*TOOLS]))
    try:
        running.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}})
        for manifest in (tenant_role(TenancyConfig()), OWN):
            running.client.apply(manifest)
        yield running
    finally:
        running.stop()


@pytest.fixture
def api(server: ApiServer) -> client.ApiClient:
    return connect(ClusterConfig(kubeconfig=str(server.kubeconfig)), Path("/"))


def told(api: client.ApiClient) -> list[str]:
    return [each.summary for each in read_further_access(api, TENANTS).get("dev-team", [])]


def test_a_tenant_has_no_further_rights_until_somebody_binds_it(server: ApiServer, api: client.ApiClient) -> None:
    assert told(api) == []

    rule = {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get"]}
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts:apps"}
    for manifest in (
        {**RBAC, "kind": "ClusterRole", "metadata": {"name": ROLE}, "rules": [rule]},
        binding("gotk-reconciler", "cluster-admin", ACCOUNT),
        binding("nodes", ROLE, group, "apps"),
        binding("gone", "no-such-role", ACCOUNT, "apps"),
    ):
        response = server.client.request("POST", manifest)
        assert response.is_success, response.text

    assert told(api) == [
        "ClusterRoleBinding gotk-reconciler for ServiceAccount apps/dev-team: "
        "ClusterRole cluster-admin adds everything in the whole cluster",
        "RoleBinding apps/gone for ServiceAccount apps/dev-team: "
        "ClusterRole no-such-role adds nothing more in the namespace apps",
        "RoleBinding apps/nodes for Group system:serviceaccounts:apps: "
        "ClusterRole reads nodes [31m adds get nodes in the namespace apps",
    ]


def test_missing_rights_to_read_bindings_are_reported(api: client.ApiClient) -> None:
    api.set_default_header("Impersonate-User", "reader")

    with pytest.raises(ClusterUnavailable, match="403 Forbidden"):
        told(api)
