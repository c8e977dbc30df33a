"""The same stack with and without Capsule: tenants' namespaces and what runs there are not touched."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.capsule.given_tenants import MOVER, OTHER, OTHERS, app, namespace
from tests.e2e.capsule.test_capsule_install import WEBHOOK_KINDS
from tests.support.environment import Environment
from tests.support.lab import eventually

LISTED, KEPT, LEFT = f"{MOVER}-data", f"{MOVER}-kept", f"{OTHER}-left"
"""A namespace of the stack, and two that tenants make: the stack takes over one, and the other is in the way."""
ACCOUNT = f"system:serviceaccount:{MOVER}:{MOVER}"
OTHERS_ACCOUNT = f"system:serviceaccount:{OTHER}:{OTHER}"
OF_CAPSULE = ("capsule.clastix.io/", "projectcapsule.dev/")


def uids(stack: Environment) -> dict[str, Any]:
    """What must not change: the namespaces, and the Deployments with their generations."""
    places = (MOVER, LISTED, KEPT, OTHER, OTHERS)
    return {
        "namespaces": {name: stack.cluster.get("namespace", name)["metadata"]["uid"] for name in places},
        "deployments": stack.applications(LISTED, KEPT),
    }


@pytest.mark.exhaustive
@pytest.mark.scenario
class TestTheWayBack:
    before: dict[str, Any]
    capsule: dict[str, Any]

    def test_the_stack_takes_over_what_a_tenant_has_made(self, stack: Environment) -> None:
        for name, account in ((KEPT, ACCOUNT), (LEFT, OTHERS_ACCOUNT)):
            assert not stack.cluster.create(namespace(name), user=account)
        eventually(lambda: not stack.cluster.create(app("kept", KEPT), user=ACCOUNT), what="the tenant's rights")
        type(self).before = uids(stack)
        stack.config["tenants"][MOVER]["namespaces"] = [{"name": name} for name in (MOVER, LISTED, KEPT)]

        stack.up()

        assert stack.outputs()["tenants"][MOVER]["madeNamespaces"] == []
        assert stack.outputs()["tenants"][OTHER]["madeNamespaces"] == [LEFT]
        assert uids(stack) == self.before

    def test_the_mode_is_not_changed_while_a_namespace_would_be_lost(self, stack: Environment) -> None:
        type(self).capsule = {key: stack.config.pop(key) for key in ("capsule", "tenancy")}
        stack.config["tenancy"] = {"networkPolicy": "default-deny"}
        stack.write()

        outcome = stack.project.up(stack.cluster.name)

        assert not outcome.succeeded
        assert f"has created the namespaces {LEFT}" in outcome.text and "FT-CAP-053" in outcome.text
        gone = stack.cluster.kubectl("delete", "namespace", LEFT, "--wait=false", user=OTHERS_ACCOUNT)
        assert gone.returncode == 0
        eventually(lambda: stack.cluster.find("namespace", LEFT) is None, what="the namespace to be gone")

    def test_nothing_of_a_tenant_is_replaced_or_deleted_on_the_way_back(self, stack: Environment) -> None:
        changes = stack.changes()

        kept = {f"Namespace {name}": changes.get(f"Namespace {name}") for name in (MOVER, LISTED, KEPT, OTHER, OTHERS)}
        of_tenants = {what: change for what, change in kept.items() if change}
        assert sorted(of_tenants) == [f"Namespace {name}" for name in sorted((LISTED, KEPT, OTHERS))]
        assert all(operation == "update" for operation, *_ in of_tenants.values())
        assert not [what for what, (operation, *_) in changes.items() if "replace" in operation]

    def test_the_namespaces_stay_as_they_are(self, stack: Environment) -> None:
        stack.up()

        assert uids(stack) == self.before
        for name in (LISTED, KEPT, OTHERS):
            metadata = stack.cluster.get("namespace", name)["metadata"]
            assert "ownerReferences" not in metadata
            assert not [key for key in metadata["labels"] if key.startswith(OF_CAPSULE)]
        eventually(lambda: stack.cluster.ready("kustomization", MOVER, MOVER)[0] == "True", what="the sync")

    def test_nothing_of_capsule_is_left(self, stack: Environment) -> None:
        kinds = ("namespaces", "crds", "clusterroles", "clusterrolebindings", *WEBHOOK_KINDS)

        left = {kind: [each["metadata"]["name"] for each in stack.cluster.get(kind)["items"]] for kind in kinds}

        assert {
            kind: names for kind, all_ in left.items() if (names := [each for each in all_ if "capsule" in each])
        } == {}

    def test_a_tenant_may_no_longer_make_namespaces(self, stack: Environment) -> None:
        for verb in ("create", "patch"):
            assert stack.cluster.kubectl("auth", "can-i", verb, "namespaces", user=ACCOUNT).stdout.strip() == "no"
        assert not stack.changes()

    def test_the_namespaces_stay_on_the_way_there(self, stack: Environment) -> None:
        stack.config |= self.capsule

        stack.up()

        assert uids(stack) == self.before
        for name in (LISTED, KEPT, OTHERS):
            assert [each["kind"] for each in stack.cluster.get("namespace", name)["metadata"]["ownerReferences"]]
        assert "ownerReferences" not in stack.cluster.get("namespace", MOVER)["metadata"]
        assert not stack.changes()
