"""Capsule on its cluster: installed, asked and disturbed."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.capsule.conftest import ADMINISTRATORS
from tests.e2e.capsule.given_tenants import LISTED, admitted
from tests.support.environment import Environment
from tests.support.lab import Lab, eventually
from tests.support.policy_requests import definition
from tests.support.project import Project

CONTROLLER, HOME = "capsule-controller-manager", "capsule-system"
DRY_RUN = "--dry-run=server"
WEBHOOK_KINDS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
TENANT = "capsule.clastix.io/tenant"


def namespace(name: str, **labels: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def pods(stack: Environment) -> set[str]:
    return {each["metadata"]["name"] for each in stack.cluster.get("pods", namespace=HOME)["items"]}


def test_capsule_serves_after_the_update_and_a_second_one_changes_nothing(stack: Environment) -> None:
    assert stack.outputs()["capsule"] == {"version": "0.14.0"}
    assert not stack.changes()


def test_both_engines_admit_what_capsule_writes_as_soon_as_the_update_ends(stack: Environment) -> None:
    account = "system:serviceaccount:capsule-system:capsule"
    metadata = {"name": "tried", "namespace": LISTED}
    status = {"apiVersion": "capsule.clastix.io/v1beta2", "kind": "RuleStatus", "metadata": metadata}

    assert not stack.cluster.create(status, DRY_RUN, user=account)
    eventually(lambda: stack.cluster.find("rulestatus", "capsule-managed-rules", LISTED), what="what Capsule writes")


def test_kyverno_soon_knows_a_kind_that_comes_while_it_serves(stack: Environment) -> None:
    # The first unknown kind makes Kyverno look again in any case.
    for kind in ("Gadget", "Widget"):
        definition_ = definition("learned.example.com", kind)
        tried = {
            "apiVersion": "learned.example.com/v1",
            "kind": kind,
            "metadata": {"name": "tried", "namespace": LISTED},
        }
        assert not stack.cluster.create(definition_)
        try:
            admitted(stack, tried, DRY_RUN)
        finally:
            stack.cluster.kubectl("delete", "crd", definition_["metadata"]["name"])


def test_nobody_makes_a_namespace_for_a_tenant_that_does_not_exist(stack: Environment) -> None:
    said = stack.cluster.create(namespace("foreign", **{TENANT: "unknown"}), DRY_RUN)

    assert 'projectcapsule.dev" denied the request' in said
    assert not stack.cluster.create(namespace("plain"), DRY_RUN)


def test_the_controller_is_no_cluster_admin_and_has_no_rights_to_write_what_tenants_run(stack: Environment) -> None:
    account = "system:serviceaccount:capsule-system:capsule"
    allowed = {
        f"{verb} {kind}": stack.cluster.kubectl("auth", "can-i", verb, kind, "-A", user=account).stdout.strip()
        for verb, kind in (
            ("create", "namespaces"),
            ("create", "pods"),
            ("create", "secrets"),
            ("patch", "deployments"),
            ("create", "clusterrolebindings"),
        )
    }

    assert allowed == {
        "create namespaces": "yes",
        "create pods": "no",
        "create secrets": "no",
        "patch deployments": "no",
        "create clusterrolebindings": "yes",
    }


def test_every_webhook_of_capsule_has_its_authority_and_calls_its_service(stack: Environment) -> None:
    for kind in WEBHOOK_KINDS:
        clients = [each["clientConfig"] for each in stack.cluster.get(kind, "capsule-dynamic-webhook")["webhooks"]]
        assert clients
        assert all(each["caBundle"] for each in clients)
        assert {each["service"]["name"] for each in clients} == {"capsule-webhook-service"}


def test_a_replica_that_replaces_another_one_serves_with_the_same_certificate(stack: Environment) -> None:
    before, certificate = pods(stack), stack.cluster.get("secret", "capsule-tls", HOME)["data"]
    assert len(before) == 2

    for name in before:
        assert stack.cluster.kubectl("delete", "pod", "-n", HOME, name).returncode == 0

    def replaced() -> bool:
        status = stack.cluster.get("deployment", CONTROLLER, HOME)["status"]
        return status.get("availableReplicas") == 2 and not before & pods(stack)

    eventually(replaced, 180, "two other replicas")
    assert stack.cluster.get("secret", "capsule-tls", HOME)["data"] == certificate
    assert not stack.cluster.create(namespace("plain"), DRY_RUN)


def test_a_capsule_of_another_stack_is_left_alone(lab: Lab, stack: Environment, tmp_path: Path) -> None:
    stranger = Project(tmp_path / "stranger", lab.pulumi)
    # Adoption takes over many things, and not this one.
    cluster = stack.config["cluster"] | {"adopt": True}
    sections = {key: stack.config[key] for key in ("flux", "capsule", "tenancy")}
    stranger.stack("stranger", cluster=cluster, **sections)

    outcome = stranger.run("preview", "--stack", "stranger")

    assert not outcome.succeeded
    assert "(FT-CAP-020)" in outcome.text and "(the namespace capsule-system, " in outcome.text


def test_somebody_who_is_no_administrator_cannot_apply_the_stack(stack: Environment) -> None:
    stack.config["capsule"]["administrators"] = [{"kind": "User", "name": "somebody-else"}]
    stack.write()
    try:
        outcome = stack.project.up(stack.cluster.name)
    finally:
        stack.config["capsule"]["administrators"] = ADMINISTRATORS
        stack.write()

    assert not outcome.succeeded
    assert "lists neither lab:admin" in outcome.text and "(FT-CAP-008)" in outcome.text
