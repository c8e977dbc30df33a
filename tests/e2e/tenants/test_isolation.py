"""The isolation suite against tenants with grants, a delegated namespace, people and more: none of it is a hole."""

from __future__ import annotations

from tests.e2e.tenants.conftest import NAME
from tests.e2e.tenants.given_delegation import NAMESPACE, TEAM, TENANT
from tests.e2e.tenants.given_grants import GRANTED
from tests.e2e.tenants.given_roles import ADMIN
from tests.support.environment import Environment
from tests.support.isolation import assert_safe, run_stack
from tests.support.mutations import Inventories, aggregated, binding


def test_nothing_of_what_the_stack_declares_is_a_hole(stack: Environment) -> None:
    """All tenants by the inventory and by what looks for rights elsewhere, the one with grants by every attempt."""
    of_rights = [option for each in ("inventory", "8-", "10-") for option in ("--only", each)]

    for found in run_stack(stack.project, NAME, *of_rights):
        assert_safe(found)
    [granted] = run_stack(stack.project, NAME, "--tenant", GRANTED)
    assert_safe(granted)


def test_a_role_that_is_added_to_the_one_of_a_tenant_is_found(stack: Environment) -> None:
    inventories = Inventories(stack.project, NAME, stack.cluster.kubeconfig)

    assert inventories.of(ADMIN) == ()
    assert inventories.missed(ADMIN, [aggregated()]) == []


def test_a_binding_that_no_grant_and_no_team_needs_is_found(stack: Environment) -> None:
    """The team's account may be bound by the tenant, within the tenant's own rights; nobody else may."""
    inventories = Inventories(stack.project, NAME, stack.cluster.kubeconfig)
    team = {"kind": "ServiceAccount", "name": TEAM, "namespace": NAMESPACE}
    holes = [
        binding("cluster-admin", team, NAMESPACE),
        binding("view", team | {"name": "default"}, NAMESPACE),
        binding("view", team, TENANT),
    ]

    assert inventories.missed(TENANT, holes) == []
