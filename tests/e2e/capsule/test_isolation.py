"""The isolation suite against tenants of Capsule: what they make is no hole, what somebody adds to it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.capsule.conftest import NAME
from tests.e2e.capsule.given_tenants import ACCOUNT, MAKER, namespace
from tests.support.environment import Environment
from tests.support.isolation import assert_safe, run_stack
from tests.support.mutations import Inventories, binding, capsule_holes

PLACE = f"{MAKER}-inventory"


@pytest.fixture
def with_made_namespace(stack: Environment) -> Iterator[Environment]:
    """The stack with a namespace that the tenant has made."""
    assert not stack.cluster.create(namespace(PLACE), user=ACCOUNT)
    yield stack
    stack.cluster.kubectl("delete", "namespace", PLACE)


def test_a_namespace_of_the_tenants_own_is_as_intended_and_holes_beside_it_are_found(
    with_made_namespace: Environment,
) -> None:
    stack = with_made_namespace
    inventories = Inventories(stack.project, NAME, stack.cluster.kubeconfig)
    account = {"kind": "ServiceAccount", "name": MAKER, "namespace": MAKER}

    inventories.assert_settled(MAKER)
    [found] = run_stack(stack.project, NAME, "--tenant", MAKER)
    assert_safe(found)
    missed = inventories.missed(MAKER, [binding("admin", account, PLACE), *capsule_holes(MAKER)])
    assert not missed, "\n".join(missed)
