"""What tenants may do in addition to their role, read from a real API server with its own bindings."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.cluster.config import ClusterConfig, connect
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.further_access import TenantAccess, read_further_access
from flux_tenancy.components.tenant.identity import role_binding
from flux_tenancy.components.tenant.role import Role, tenant_role
from tests.support.api_server import ApiServer, api_server
from tests.support.lab import eventually

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
    with api_server(tmp_path_factory.mktemp("api")) as running:
        running.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}})
        for manifest in (tenant_role(TenancyConfig()), OWN):
            running.client.apply(manifest)
        yield running


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


IMPERSONATOR = {"kind": "ServiceAccount", "name": "impersonator", "namespace": "apps"}
IMPERSONATES = [
    {
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["serviceaccounts"],
        "resourceNames": [ACCOUNT["name"]],
        "verbs": ["impersonate:serviceaccount"],
    },
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "verbs": [f"impersonate-on:serviceaccount:{verb}" for verb in ("create", "list")],
    },
]


def impersonating(api: client.ApiClient, name: str) -> client.CoreV1Api:
    """A client with a token of the impersonator, which acts as a service account of the namespace."""
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[]))
    answer = client.CoreV1Api(api).create_namespaced_service_account_token(
        IMPERSONATOR["name"], IMPERSONATOR["namespace"], request
    )
    assert answer.status
    configuration = copy.copy(api.configuration)
    configuration.cert_file = configuration.key_file = None
    acting = client.ApiClient(configuration)
    acting.set_default_header("Authorization", f"Bearer {answer.status.token}")
    acting.set_default_header("Impersonate-User", f"system:serviceaccount:apps:{name}")
    return client.CoreV1Api(acting)


def test_impersonation_can_be_limited_to_verbs_and_resources(server: ApiServer, api: client.ApiClient) -> None:
    """Since Kubernetes 1.36: what docs/lockdown.md says of it."""
    place = {"name": IMPERSONATOR["name"], "namespace": "apps"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": place["name"]}
    for manifest in (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place | {"name": ACCOUNT["name"]}},
        {**RBAC, "kind": "Role", "metadata": place, "rules": IMPERSONATES},
        {**RBAC, "kind": "RoleBinding", "metadata": place, "roleRef": reference, "subjects": [IMPERSONATOR]},
    ):
        server.client.apply(manifest)
    tenant, other = impersonating(api, ACCOUNT["name"]), impersonating(api, "default")
    created = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="own"))

    def status(request: Callable[..., object], *arguments: object) -> int:
        try:
            request(*arguments)
        except ApiException as error:
            return int(error.status)
        return 200

    eventually(lambda: status(tenant.list_namespaced_config_map, "apps") == 200)
    assert status(tenant.create_namespaced_config_map, "apps", created) == 200
    assert status(tenant.delete_namespaced_config_map, "own", "apps") == 403
    assert status(tenant.list_namespaced_secret, "apps") == 403
    assert status(other.list_namespaced_config_map, "apps") == 403
