"""People of a tenant and auditors, with the real API server's answers about their rights.

The golden file has what each role adds to what every authenticated user may do:

    GOLDEN=write .venv/bin/python -m pytest tests/e2e/tenants/test_people.py -k matrix
"""

from __future__ import annotations

import json
import re
from subprocess import CompletedProcess

import pytest

from tests.e2e.manifests import kustomization
from tests.e2e.tenants.given_people import GROUPS, NAMESPACE, TENANT
from tests.support.environment import Environment
from tests.support.goldens import assert_golden
from tests.support.lab import eventually

FOREIGN = ("default", "kube-system")
# The kind that auditors do not read, and one without objects.
UNREADABLE = {"secrets", "componentstatuses"}
# Kinds of Kubernetes and of Flux; other tests may bring definitions of their own.
KNOWN = re.compile(r"[^.]+(\.(apps|autoscaling|batch|policy|.+\.k8s\.io|.+\.fluxcd\.io))?")


def as_member(stack: Environment, role: str, *arguments: str) -> CompletedProcess[str]:
    """Run kubectl as a member of a role's group; a role without a group is any authenticated user."""
    groups = [f"--as-group={GROUPS[role]}"] if role in GROUPS else []
    return stack.cluster.kubectl(*arguments, *groups, "--as-group=system:authenticated", user="ann")


def rights(stack: Environment, role: str, namespace: str) -> set[str]:
    """The lines of `kubectl auth can-i --list`, with the verbs in order and one space between the columns."""
    lines = as_member(stack, role, "auth", "can-i", "--list", "--no-headers", "-n", namespace).stdout.splitlines()
    return {
        re.sub(r"\[([a-z ]*)\]$", lambda verbs: " ".join(sorted(verbs[1].split())), " ".join(line.split()))
        for line in lines
    }


def matrix(stack: Environment) -> str:
    """What each role adds, by namespace."""
    rows = []
    for role in GROUPS:
        for namespace in (NAMESPACE, *FOREIGN):
            more = rights(stack, role, namespace) - rights(stack, "nobody", namespace)
            rows += [f"{role} in {namespace}", *(f"  {line}" for line in sorted(more)), ""]
    return "\n".join(rows)


@pytest.mark.golden
def test_the_matrix_of_roles_and_namespaces(stack: Environment) -> None:
    assert_golden("people.txt", matrix(stack))


def test_auditors_read_every_kind_except_secrets(stack: Environment) -> None:
    """A kind that a new release of Kubernetes or Flux brings has to be added to the role."""
    listed = stack.cluster.kubectl("api-resources", "--verbs=list", "-o", "name").stdout.split()
    listable = filter(KNOWN.fullmatch, listed)
    allowed = {line.split()[0] for line in rights(stack, "auditor", "kube-system") if "list" in line.split()}

    assert set(listable) - allowed == UNREADABLE


def test_a_developer_asks_for_a_reconciliation_of_the_tenants_sync(stack: Environment) -> None:
    request = "reconcile.fluxcd.io/requestedAt=by-a-developer"
    command = ("annotate", "kustomization", TENANT, "-n", NAMESPACE, "--overwrite", request)

    assert "cannot patch resource" in as_member(stack, "viewer", *command).stderr
    done = as_member(stack, "developer", *command)

    assert done.returncode == 0, done.stderr

    def handled() -> bool:
        status = stack.cluster.get("kustomization", TENANT, NAMESPACE)["status"]
        return bool(status.get("lastHandledReconcileAt") == "by-a-developer")

    eventually(handled)


@pytest.fixture
def own(stack: Environment) -> str:
    """A Kustomization that the tenant has written itself."""
    manifest = kustomization("own", source=TENANT, place=NAMESPACE, path="./app", serviceAccountName=TENANT)
    stack.cluster.apply(manifest)
    return "own"


def patched(stack: Environment, name: str, **spec: object) -> str:
    """What the API server says against a developer's patch."""
    patch = json.dumps({"spec": spec})
    command = ("patch", "kustomization", name, "-n", NAMESPACE, "--type=merge", "-p", patch)
    return as_member(stack, "developer", *command).stderr


def test_a_developer_suspends_and_resumes_an_object_of_the_tenant_and_changes_nothing_else(
    stack: Environment, own: str
) -> None:
    refusal = "flux-tenancy-flux-requests"

    assert refusal in patched(stack, own, path="./other")
    assert refusal in patched(stack, own, suspend=True, prune=False)
    assert patched(stack, own, suspend=True) == ""
    assert stack.cluster.get("kustomization", own, NAMESPACE)["spec"]["suspend"] is True
    assert patched(stack, own, suspend=False) == ""


def test_a_developer_cannot_suspend_the_platforms_sync(stack: Environment) -> None:
    assert "flux-tenancy-platform-objects" in patched(stack, TENANT, suspend=True)


@pytest.mark.parametrize("role", GROUPS)
def test_nobody_reads_a_secret(stack: Environment, role: str) -> None:
    found = as_member(stack, role, "get", "secrets", "-n", NAMESPACE)

    assert found.stdout == "" and "cannot list resource" in found.stderr


def test_the_access_of_people_is_the_platforms_own(stack: Environment) -> None:
    assert stack.outputs()["tenants"][TENANT]["furtherAccess"] == []
