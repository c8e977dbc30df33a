"""A tenant onboards a team below itself, by hand as its own Flux account, and the team has no more than the tenant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.tenants.given_delegation import NAMESPACE, TEAM, TENANT
from tests.support.environment import Environment
from tests.support.lab import eventually

ACCOUNT = f"system:serviceaccount:{TENANT}:{TENANT}"
RBAC = "rbac.authorization.k8s.io"
SUBJECT = {"kind": "ServiceAccount", "name": TEAM, "namespace": NAMESPACE}


def bound(role: str, subject: dict[str, str], name: str = TEAM) -> dict[str, Any]:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }


def kustomization(path: str, account: str = TEAM) -> dict[str, Any]:
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": path},
        "spec": {
            "interval": "10m",
            "path": f"./{path}",
            "prune": True,
            "serviceAccountName": account,
            "sourceRef": {"kind": "GitRepository", "name": TEAM},
            "targetNamespace": NAMESPACE,
        },
    }


@pytest.fixture(scope="module")
def team(stack: Environment) -> None:
    """The tenant onboards its team: account, binding, source, and two syncs."""
    source = stack.cluster.get("gitrepository", TENANT, TENANT)
    credentials = stack.cluster.get("secret", source["spec"]["secretRef"]["name"], TENANT)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": TEAM}, "data": credentials["data"]}
    own_source = {
        "apiVersion": source["apiVersion"],
        "kind": source["kind"],
        "metadata": {"name": TEAM},
        "spec": source["spec"] | {"secretRef": {"name": TEAM}},
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": TEAM}}
    binding = bound("flux-tenancy-tenant", SUBJECT)
    for manifest in (account, binding, secret, own_source, kustomization("team"), kustomization("beyond")):
        assert _applied(stack, manifest, dry_run=False) == "", manifest["kind"]


@pytest.mark.usefixtures("team")
def test_flux_applies_the_repository_of_the_team_as_its_own_account(stack: Environment) -> None:
    eventually(lambda: stack.cluster.ready("kustomization", "team", NAMESPACE)[0] == "True", what="the team's sync")

    assert stack.cluster.find("configmap", "note", NAMESPACE)
    # Not even the tenant may write quotas.
    refusal = stack.cluster.refusal("kustomization", "beyond", NAMESPACE, "resourcequotas")
    assert f'User "system:serviceaccount:{NAMESPACE}:{TEAM}"' in refusal


@pytest.mark.usefixtures("team")
@pytest.mark.parametrize(
    ("manifest", "refusal"),
    [
        (bound("cluster-admin", SUBJECT, "more"), "attempting to grant RBAC permissions not currently held"),
        (
            bound("flux-tenancy-tenant", {"apiGroup": RBAC, "kind": "User", "name": "ann"}, "people"),
            "is not a service account of tenant",
        ),
        (
            bound("flux-tenancy-tenant", SUBJECT | {"namespace": "granted"}, "others"),
            "is not a service account of tenant",
        ),
        (kustomization("team", TENANT), f"set it to {TEAM}"),
        (kustomization("team", "default"), f"set it to {TEAM}"),
    ],
    ids=["more rights", "a person", "another tenant", "the tenant's account", "another account"],
)
def test_the_tenant_can_give_its_team_nothing_else(stack: Environment, manifest: dict[str, Any], refusal: str) -> None:
    assert refusal in _applied(stack, manifest)


def test_the_tenant_may_write_bindings_only_in_the_delegated_namespace_and_not_the_platforms(
    stack: Environment,
) -> None:
    assert 'cannot patch resource "rolebindings"' in _applied(stack, bound("flux-tenancy-tenant", SUBJECT), TENANT)
    for name in ("flux-impersonation", f"{TENANT}-reconciler", f"{TENANT}-delegation"):
        done = stack.cluster.kubectl("delete", "rolebinding", name, "-n", NAMESPACE, "--dry-run=server", user=ACCOUNT)
        assert "which marks platform objects" in done.stderr, name


def _applied(stack: Environment, manifest: dict[str, Any], namespace: str = NAMESPACE, dry_run: bool = True) -> str:
    """What is said to the tenant's account that applies an object as Flux does."""
    options = ("apply", "--server-side", "-n", namespace, *(["--dry-run=server"] if dry_run else []), "-f", "-")
    return stack.cluster.kubectl(*options, user=ACCOUNT, stdin=json.dumps(manifest)).stderr
