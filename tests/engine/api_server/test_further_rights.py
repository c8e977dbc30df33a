"""What tenants may do in addition to their role, read from a real API server with its own bindings."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.further_access import TenantAccess, read_further_access
from flux_tenancy.components.tenant.identity import role_binding
from flux_tenancy.components.tenant.role import Role, tenant_role
from tests.support.api_client import ApiClient
from tests.support.lab import eventually
from tests.support.policy_requests import RBAC, bound

PLACE = "further"
OWN = role_binding("dev-team", PLACE, PLACE, Role.TENANT, "dev-team")
TENANTS = {"dev-team": TenantAccess([PLACE], [OWN])}
ACCOUNT = OWN["subjects"][0]
# The API server takes almost any text for the name of a role.
ROLE = "reads nodes\x1b[31m"


@pytest.fixture(scope="module", autouse=True)
def tenant(server: ApiClient) -> None:
    """A tenant that has the role that the platform gives it, and nothing else."""
    server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}})
    for manifest in (tenant_role(TenancyConfig()), OWN):
        server.apply(manifest)


def told(program: client.ApiClient) -> list[str]:
    return [each.summary for each in read_further_access(program, TENANTS).get("dev-team", [])]


def test_a_tenant_has_no_further_rights_until_somebody_binds_it(server: ApiClient, program: client.ApiClient) -> None:
    assert told(program) == []

    rule = {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get"]}
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": f"system:serviceaccounts:{PLACE}"}
    for manifest in (
        {**RBAC, "kind": "ClusterRole", "metadata": {"name": ROLE}, "rules": [rule]},
        bound("ClusterRoleBinding", {"name": "gotk-reconciler"}, "cluster-admin", ACCOUNT),
        bound("RoleBinding", {"name": "nodes", "namespace": PLACE}, ROLE, group),
        bound("RoleBinding", {"name": "gone", "namespace": PLACE}, "no-such-role", ACCOUNT),
    ):
        response = server.request("POST", manifest)
        assert response.is_success, response.text

    assert told(program) == [
        "ClusterRoleBinding gotk-reconciler for ServiceAccount further/dev-team: "
        "ClusterRole cluster-admin adds everything in the whole cluster",
        "RoleBinding further/gone for ServiceAccount further/dev-team: "
        "ClusterRole no-such-role adds nothing more in the namespace further",
        "RoleBinding further/nodes for Group system:serviceaccounts:further: "
        "ClusterRole reads nodes [31m adds get nodes in the namespace further",
    ]


def test_missing_rights_to_read_bindings_are_reported(program: client.ApiClient) -> None:
    program.set_default_header("Impersonate-User", "reader")

    with pytest.raises(ClusterUnavailable, match="403 Forbidden"):
        told(program)


IMPERSONATOR = {"kind": "ServiceAccount", "name": "impersonator", "namespace": PLACE}
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


def impersonating(program: client.ApiClient, name: str) -> client.CoreV1Api:
    """A client with a token of the impersonator, which acts as a service account of the namespace."""
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[]))
    answer = client.CoreV1Api(program).create_namespaced_service_account_token(
        IMPERSONATOR["name"], IMPERSONATOR["namespace"], request
    )
    assert answer.status
    configuration = copy.copy(program.configuration)
    configuration.cert_file = configuration.key_file = None
    acting = client.ApiClient(configuration)
    acting.set_default_header("Authorization", f"Bearer {answer.status.token}")
    acting.set_default_header("Impersonate-User", f"system:serviceaccount:{PLACE}:{name}")
    return client.CoreV1Api(acting)


def test_impersonation_can_be_limited_to_verbs_and_resources(server: ApiClient, program: client.ApiClient) -> None:
    """Since Kubernetes 1.36: what docs/lockdown.md says of it."""
    place = {"name": IMPERSONATOR["name"], "namespace": PLACE}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": place["name"]}
    for manifest in (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place | {"name": ACCOUNT["name"]}},
        {**RBAC, "kind": "Role", "metadata": place, "rules": IMPERSONATES},
        {**RBAC, "kind": "RoleBinding", "metadata": place, "roleRef": reference, "subjects": [IMPERSONATOR]},
    ):
        server.apply(manifest)
    tenant, other = impersonating(program, ACCOUNT["name"]), impersonating(program, "default")
    created = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="own"))

    def status(request: Callable[..., object], *arguments: object) -> int:
        try:
            request(*arguments)
        except ApiException as error:
            return int(error.status)
        return 200

    eventually(lambda: status(tenant.list_namespaced_config_map, PLACE) == 200)
    assert status(tenant.create_namespaced_config_map, PLACE, created) == 200
    assert status(tenant.delete_namespaced_config_map, "own", PLACE) == 403
    assert status(tenant.list_namespaced_secret, PLACE) == 403
    assert status(other.list_namespaced_config_map, PLACE) == 403
