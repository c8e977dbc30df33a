"""The inventory of namespaces that are onboarded by label, and of Kyverno beside Kubernetes' own policies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flux_tenancy.components.cluster.config import ClusterConfig, connect
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from tests.e2e.manifests import git_repository, namespace
from tests.support.environment import Environment
from tests.support.isolation import assert_safe, run, run_stack
from tests.support.lab import eventually
from tests.support.mutations import (
    ELSEWHERE,
    UNGUARDED,
    Inventories,
    binding,
    kyverno_holes,
    made,
    of_labels,
    opening,
    policy_hole,
)

TEAM, PLACE = "green-team", "green"
LATE, USED = "late-team", "used"
STACK = "policies"


@pytest.fixture(scope="module")
def onboarded(kyverno_stack: Environment) -> Iterator[Environment]:
    """The stack with a namespace that Kyverno has provisioned."""
    cluster = kyverno_stack.cluster
    cluster.apply(namespace(PLACE, {TENANT_LABEL: TEAM}))
    eventually(lambda: cluster.find("networkpolicy", f"{TEAM}-default-deny", PLACE), what="the namespace's objects")
    # Controls write sources like the tenant's own.
    cluster.apply(git_repository("own", "https://git.example.com/green/apps", PLACE))
    yield kyverno_stack
    cluster.kubectl("delete", "namespace", PLACE)


def test_onboarding_by_label_is_as_intended_and_holes_beside_it_are_found(onboarded: Environment) -> None:
    """Also of an engine whose policies the other one would make up for."""
    inventories = Inventories(onboarded.project, STACK, onboarded.cluster.kubeconfig)
    account = {"kind": "ServiceAccount", "name": TEAM, "namespace": PLACE}

    inventories.assert_settled(TEAM)
    [found] = run_stack(onboarded.project, STACK, "--tenant", TEAM)
    assert_safe(found)
    holes = [*kyverno_holes(PLACE), binding("admin", account, PLACE), binding("edit", account, "kyverno")]
    missed = inventories.missed(TEAM, holes)
    assert not missed, "\n".join(missed)


def test_a_label_that_nothing_guarded_is_found(onboarded: Environment) -> None:
    cluster = onboarded.cluster
    inventories = Inventories(onboarded.project, STACK, cluster.kubeconfig)
    cluster.apply(namespace(ELSEWHERE, {}))
    inventories.assert_settled(TEAM)

    with made(inventories.api, UNGUARDED):
        asked = ("label", "namespace", "kube-system", f"{TENANT_LABEL}={TEAM}", "--dry-run=server")
        eventually(lambda: cluster.kubectl(*asked).returncode == 0, what="the label without a guard")
        for hole in of_labels(TEAM):
            with made(inventories.api, hole):
                found = found_by(inventories, TEAM)
            assert {UNGUARDED.finding, hole.finding} <= found, hole.name
    eventually(lambda: cluster.kubectl(*asked).returncode == 1, what="the guard")
    inventories.assert_settled(TEAM)


def test_what_was_in_a_namespace_before_its_label_is_found(kyverno_stack: Environment) -> None:
    """A label changes nothing that is there already, also what the tenant could not make itself."""
    cluster = kyverno_stack.cluster
    inventories = Inventories(kyverno_stack.project, STACK, cluster.kubeconfig)
    cluster.apply(namespace(USED, {}))
    default = {"kind": "ServiceAccount", "name": "default", "namespace": USED}
    planted = [binding("admin", default, USED), opening(USED)]
    for each in planted:
        cluster.apply(each.object)

    cluster.kubectl("label", "namespace", USED, f"{TENANT_LABEL}={LATE}")
    eventually(lambda: cluster.find("networkpolicy", f"{LATE}-default-deny", USED), what="the namespace's objects")

    expected = {each.finding for each in planted}
    eventually(lambda: found_by(inventories, LATE) == expected, what="what was there before")
    for each in planted:
        cluster.kubectl("delete", each.object["kind"], each.object["metadata"]["name"], "-n", USED)
    inventories.assert_settled(LATE)
    cluster.kubectl("delete", "namespace", USED)


def found_by(inventories: Inventories, tenant: str) -> set[tuple[str, str, str]]:
    return {(each.code, each.namespace, each.target) for each in inventories.of(tenant)}


@pytest.mark.parametrize("engine", ["native", "kyverno"])
@pytest.mark.parametrize("change", ["in audit", "emptied", "gone"])
def test_a_policy_that_one_engine_lacks_is_found_without_a_stack(
    onboarded: Environment, engine: str, change: str
) -> None:
    """The other engine refuses all the same, so no request shows it."""
    cluster = onboarded.cluster
    hole = policy_hole("service-exposure", engine, change)
    key = f"23-{engine}-service-exposure"

    def passed() -> set[str]:
        return run(cluster.kubeconfig, "--tenant", TEAM, "--only", "23-", "--only", "20-").ids("passed")

    eventually(lambda: passed() == set(), what="all policies")
    with made(connect(ClusterConfig(kubeconfig=str(cluster.kubeconfig)), onboarded.project.folder), hole):
        eventually(lambda: passed() == {key}, what=f"{key} open")
    eventually(lambda: passed() == set(), what="the policy again")
