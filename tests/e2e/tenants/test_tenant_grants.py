"""What Flux applies for a tenant because of its grants, and refuses for another tenant and beyond the grants."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from tests.e2e.tenants.given_delegation import team_binding
from tests.e2e.tenants.given_grants import DELEGATED, FILES, GRANTED, OTHER, REASON, TEAM, budget, gizmo
from tests.support.environment import Environment
from tests.support.lab import eventually

ACCOUNT = f"system:serviceaccount:{GRANTED}:{GRANTED}"


def test_flux_applies_everything_that_is_granted(stack: Environment) -> None:
    eventually(lambda: stack.cluster.ready("kustomization", GRANTED, GRANTED)[0] == "True", what="the sync")

    assert stack.cluster.get("gizmo", "shared")["spec"] == {"by": "tenant"}
    assert stack.cluster.find("widget", "one", GRANTED)
    assert stack.cluster.get("service", "open", GRANTED)["spec"]["type"] == "NodePort"


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("widget", 'cannot patch resource "widgets"'),
        ("gizmo", 'cannot patch resource "gizmos"'),
        ("service", "spec.type NodePort is not allowed"),
        ("budget", "the budget may allow no eviction"),
    ],
)
def test_nothing_of_it_is_allowed_to_another_tenant(stack: Environment, name: str, refusal: str) -> None:
    assert refusal in _applied_by(stack, f"system:serviceaccount:{OTHER}:{OTHER}", FILES[name], OTHER)


@pytest.mark.parametrize(
    ("manifest", "refusal"),
    [
        (gizmo("another"), 'cannot patch resource "gizmos"'),
        (budget("other"), "the budget may allow no eviction"),
        (FILES["service"] | {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}, "type LoadBalancer is not"),
    ],
    ids=["another object", "another name", "another type"],
)
def test_nothing_beyond_the_grants_is_allowed(stack: Environment, manifest: dict[str, Any], refusal: str) -> None:
    assert refusal in _applied_by(stack, ACCOUNT, manifest, GRANTED)


@pytest.fixture(scope="module")
def team(stack: Environment) -> str:
    """The user name of the team below the tenant with grants, which has all that the tenant can give it."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": TEAM, "namespace": DELEGATED}}
    for manifest in (account, team_binding(TEAM, DELEGATED)):
        assert stack.cluster.create(manifest, user=ACCOUNT) == ""
    return f"system:serviceaccount:{DELEGATED}:{TEAM}"


def test_grants_do_not_pass_to_a_team_below_the_tenant(stack: Environment, team: str) -> None:
    """Neither to its account nor, in the team's namespace, to the tenant's own."""
    for user in (team, ACCOUNT):
        for name, refusal in (
            ("widget", 'cannot patch resource "widgets"'),
            ("service", "spec.type NodePort is not allowed"),
            ("budget", "the budget may allow no eviction"),
        ):
            assert refusal in _applied_by(stack, user, FILES[name], DELEGATED), (user, name)
        assert _applied_by(stack, user, FILES["service"] | {"spec": {"ports": [{"port": 80}]}}, DELEGATED) == ""
        assert 'cannot patch resource "gizmos"' in _applied_by(stack, team, FILES["gizmo"], DELEGATED)
    assert _applied_by(stack, ACCOUNT, FILES["widget"], GRANTED) == ""


def test_a_tenant_can_change_neither_its_grants_nor_its_exceptions(stack: Environment) -> None:
    for kind, name, change in (
        ("role", f"{GRANTED}-grants", {"rules": []}),
        ("namespace", GRANTED, {"metadata": {"annotations": {"flux-tenancy/exceptions": "allowed-images"}}}),
        ("clusterrole", f"flux-tenancy-grants-{GRANTED}", {"rules": []}),
    ):
        patch = ("patch", kind, name, "-n", GRANTED, "--type=merge", "--patch", json.dumps(change))
        assert "orbidden" in stack.cluster.kubectl(*patch, user=ACCOUNT).stderr, kind


def test_outputs_show_what_is_granted_and_why(stack: Environment) -> None:
    tenants = stack.outputs()["tenants"]

    assert tenants[GRANTED]["grants"] == [
        {
            "allows": [
                "create, delete, get, patch widgets.example.com in its namespaces",
                "get, patch gizmos.example.com shared",
            ],
            "reason": REASON,
            "expires": "2099-12-31",
        },
        {
            "allows": [
                "Services of the type NodePort",
                "an exception from the policy disruption-budgets for legacy",
            ],
            "reason": REASON,
        },
    ]
    assert tenants[GRANTED]["furtherAccess"] == []
    assert "grants" not in tenants[OTHER]


def test_the_report_lists_what_runs_only_because_of_a_grant(stack: Environment) -> None:
    eventually(lambda: stack.cluster.find("poddisruptionbudget", "legacy", GRANTED), what="the budget")

    with contextlib.chdir(stack.project.folder):
        done = CliRunner().invoke(app, ["tenant", "violations", "--stack", stack.cluster.name, "--output", "json"])

    found = json.loads(done.stdout)
    assert {(each["kind"], each["name"], each["policy"]) for each in found["onlyByGrant"]} == {
        ("Service", "open", "service-exposure"),
        ("PodDisruptionBudget", "legacy", "disruption-budgets"),
    }
    assert [each for each in found["findings"] if each["tenant"] == GRANTED] == []


def _applied_by(stack: Environment, user: str, manifest: dict[str, Any], namespace: str) -> str:
    """What is said to a user who applies an object as Flux does; nothing is changed."""
    options = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-n", namespace, "-f", "-")
    return stack.cluster.kubectl(*options, user=user, stdin=json.dumps(manifest)).stderr
