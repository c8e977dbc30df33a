"""NativePolicies and KyvernoPolicies: the probe comes last, and what is guarded waits until it is refused."""

from typing import cast

import pulumi
import pytest
from kubernetes.client import ApiClient
from recorded_program import run

from components import tenancy_policies
from components.configuration.policies import PolicyEngine
from components.kubernetes_api import ClusterUnavailable
from components.manifests import BACKGROUND, OWNERSHIP
from components.policies.in_force import NotInForce
from components.policies.table import PolicySet
from components.tenancy_policies import KyvernoPolicies, NativePolicies, PoliciesArgs

API = cast(ApiClient, object())
COMPONENTS = {PolicyEngine.NATIVE: NativePolicies, PolicyEngine.KYVERNO: KyvernoPolicies}
ENGINES = pytest.mark.parametrize("engine", COMPONENTS)


def policy(kind, name):
    return {"apiVersion": "policies.kyverno.io/v1", "kind": kind, "metadata": {"name": name}, "spec": {"of": name}}


POLICIES = PolicySet(
    manifests=(policy("ValidatingPolicy", "images"), policy("GeneratingPolicy", "limits")),
    digest="0123456789abcdef",
    probe=(policy("ValidatingPolicy", "probe"), policy("Binding", "probe")),
)
OBJECTS = {"ValidatingPolicy images", "GeneratingPolicy limits"}
LAST = "Binding probe"
PROBE = {"ValidatingPolicy probe", LAST}


@pytest.fixture
def waits(monkeypatch):
    """What was waited for: engine and digest."""
    made = []
    monkeypatch.setattr(tenancy_policies, "wait_until_in_force", lambda *asked: made.append(asked[:2]))
    return made


def registered(engine, preview=False):
    """The policies of an engine after a resource that they need, and one that they guard."""

    def program():
        needed = pulumi.CustomResource("test:index:Needed", "needed")
        policies = COMPONENTS[engine](
            "policies", PoliciesArgs(POLICIES, API), pulumi.ResourceOptions(depends_on=[needed])
        )
        guarded = pulumi.ResourceOptions(depends_on=[policies.in_force])
        pulumi.CustomResource("test:index:Guarded", "guarded", {}, guarded)

    return run(program, preview=preview)


@ENGINES
def test_every_object_is_registered_under_the_component_and_marked_as_pulumis(waits, engine):
    component = f"{COMPONENTS[engine].__name__} policies"
    resources = registered(engine)

    assert set(resources) == {component, "Needed needed", "Guarded guarded"} | OBJECTS | PROBE
    for name in OBJECTS | PROBE:
        assert resources[name].parent == component
        assert resources[name].properties["metadata"]["annotations"] == OWNERSHIP | BACKGROUND
    limits = resources["GeneratingPolicy limits"]
    assert limits.type == "kubernetes:policies.kyverno.io/v1:GeneratingPolicy"
    assert limits.properties["spec"] == {"of": "limits"}


@ENGINES
def test_the_probe_comes_after_all_policies_and_these_after_the_component(waits, engine):
    resources = registered(engine)

    # The engine registers no child before its component, nor removes what that needs before the children.
    assert resources[f"{COMPONENTS[engine].__name__} policies"].after == {"Needed needed"}
    assert {name: resources[name].after for name in OBJECTS | PROBE} == {
        **dict.fromkeys(OBJECTS, set()),
        "ValidatingPolicy probe": OBJECTS,
        LAST: OBJECTS | {"ValidatingPolicy probe"},
    }


@ENGINES
def test_what_is_guarded_comes_after_the_last_of_them_which_are_seen_to_be_in_force(waits, engine):
    assert registered(engine)["Guarded guarded"].after == {LAST}
    assert waits == [(engine, POLICIES.digest)]


@ENGINES
def test_a_preview_waits_for_nothing_and_shows_the_same_order(waits, engine):
    assert registered(engine, preview=True)["Guarded guarded"].after == {LAST}
    assert waits == []


def test_the_cluster_is_asked_beside_flux(monkeypatch):
    asked = []
    monkeypatch.setattr(tenancy_policies, "refusal", lambda *question: asked.append(question))
    monkeypatch.setattr(tenancy_policies, "wait_until_in_force", lambda engine, digest, ask: ask({"kind": "ConfigMap"}))

    registered(PolicyEngine.NATIVE)

    assert asked == [(API, "/api/v1/namespaces/flux-system/configmaps", {"kind": "ConfigMap"})]


@pytest.mark.parametrize(
    "failure", [NotInForce("the policies are not in force"), ClusterUnavailable("kubeconfig", "cannot be reached")]
)
@ENGINES
def test_policies_that_are_not_in_force_end_the_update_before_what_they_guard(monkeypatch, engine, failure):
    def fail(*_):
        raise failure

    monkeypatch.setattr(tenancy_policies, "wait_until_in_force", fail)

    with pytest.raises(pulumi.RunError, match=str(failure)):
        registered(engine)
