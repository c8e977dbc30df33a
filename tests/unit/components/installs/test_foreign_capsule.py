"""A Capsule that somebody else has installed is never taken over."""

import pytest

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.capsule import CAPSULE
from flux_tenancy.components.stack.cluster.conflicts import foreign_product

UID = "11111111-1111-1111-1111-111111111111"
DEFINITION, WEBHOOK = "tenants.capsule.clastix.io", "capsule-dynamic-webhook"
BEGUN = {("pulumi:providers:kubernetes", "cluster"): {"clusterIdentifier": UID}}


def problems(namespaces=(), found=None, state=None, marked=()):
    facts = ClusterFacts(UID, "v1.36.3", {name: {} for name in namespaces}, marked=frozenset(marked))
    return foreign_product(CAPSULE, facts, lambda: found or {}, State(state or {}), "Pulumi.staging.yaml")


@pytest.mark.parametrize(
    ("cluster", "named"),
    [
        ({"namespaces": ["capsule-system"]}, "the namespace capsule-system"),
        ({"found": {DEFINITION: False, WEBHOOK: False}}, f"{WEBHOOK}, {DEFINITION}"),
        # Applied by this program for another stack.
        ({"found": {DEFINITION: True}}, DEFINITION),
        ({"namespaces": ["capsule-system"], "marked": ["capsule-system"]}, "the namespace capsule-system"),
    ],
)
def test_a_capsule_of_somebody_else_is_refused(cluster, named):
    [problem] = problems(**cluster)

    assert (problem.path, problem.code) == ("capsule", "FT-CAP-020")
    assert f"({named})" in problem.message


@pytest.mark.parametrize(
    "cluster",
    [
        {},
        {
            "namespaces": ["capsule-system"],
            "found": {DEFINITION: False},
            "state": {("kubernetes:core/v1:Namespace", "capsule-system"): {}},
        },
        # An update was killed in the middle.
        {"namespaces": ["capsule-system"], "marked": ["capsule-system"], "state": BEGUN, "found": {DEFINITION: True}},
        {
            "found": {DEFINITION: False},
            "state": {("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", DEFINITION): {}},
        },
    ],
)
def test_the_stacks_own_capsule_and_a_cluster_without_one_are_accepted(cluster):
    assert problems(**cluster) == []
