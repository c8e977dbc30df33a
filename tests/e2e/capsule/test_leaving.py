"""Tenants leave that have made namespaces: what holds one of them is named, and holds nobody else."""

from __future__ import annotations

import pytest

from tests.e2e.capsule.given_tenants import HOLDER, LEAVER, admitted, namespace
from tests.support.environment import Environment

HELD = f"{HOLDER}-held"
FINALIZER = "held.example.com/held"


@pytest.mark.scenario
class TestAHeldNamespaceThatATenantHasMade:
    def test_its_holder_is_named_with_the_namespace(self, stack: Environment) -> None:
        account = f"system:serviceaccount:{HOLDER}:{HOLDER}"
        assert not stack.cluster.create(namespace(HELD), user=account)
        metadata = {"name": "held", "namespace": HELD, "finalizers": [FINALIZER]}
        held = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        admitted(stack, held)
        leaving = {**stack.config["tenants"][LEAVER], "state": "leaving"}
        stack.offboard(HOLDER, LEAVER)
        stack.config["tenants"][LEAVER] = leaving
        stack.write()

        outcome = stack.project.up(stack.cluster.name)

        assert not outcome.succeeded
        assert f"namespace {HELD} is still being deleted" in outcome.text and "FT-TEN-021" in outcome.text
        assert f"configmaps held by {FINALIZER}" in outcome.text

    def test_another_tenant_leaves_meanwhile(self, stack: Environment) -> None:
        del stack.config["tenants"][LEAVER]
        stack.write()

        arguments = ("--yes", "--skip-preview", "--continue-on-error", "--stack", stack.cluster.name)
        outcome = stack.project.run("up", *arguments)

        assert not outcome.succeeded
        assert "FT-TEN-021" in outcome.text
        assert stack.cluster.find("namespace", LEAVER) is None
        assert stack.cluster.find("tenants.capsule.clastix.io", LEAVER) is None
        assert stack.cluster.find("namespace", HELD)

    def test_the_tenant_has_left_once_nothing_holds_it(self, stack: Environment) -> None:
        patch = ("--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        stack.cluster.kubectl("patch", "configmap", "held", "-n", HELD, *patch)

        stack.up()

        assert stack.cluster.find("namespace", HELD) is None
        assert not stack.changes()
