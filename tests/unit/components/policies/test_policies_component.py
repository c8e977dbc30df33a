"""NativePolicies and KyvernoPolicies: the probe comes last, and what is guarded waits until it is refused."""

import asyncio
from typing import Any, cast

import pulumi
import pytest
from kubernetes.client import ApiClient
from recorded_program import run

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.plan import BACKGROUND, OWNERSHIP
from flux_tenancy.components.policies import component as tenancy_policies
from flux_tenancy.components.policies.component import KyvernoPolicies, NativePolicies, NotInForce, PoliciesArgs
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.policies.table import PolicySet

API = cast(ApiClient, object())
COMPONENTS = {PolicyEngine.NATIVE: NativePolicies, PolicyEngine.KYVERNO: KyvernoPolicies}
ENGINES = pytest.mark.parametrize("engine", COMPONENTS)


def policy(kind, name):
    return {"apiVersion": "policies.kyverno.io/v1", "kind": kind, "metadata": {"name": name}, "spec": {"of": name}}


POLICIES = PolicySet(
    manifests=(policy("ValidatingPolicy", "images"), policy("GeneratingPolicy", "limits")),
    digest="0123456789abcdef",
    probe=(policy("ValidatingPolicy", "probe"), policy("MutatingPolicy", "probe")),
)
OBJECTS = {"ValidatingPolicy images", "GeneratingPolicy limits"}
LAST = "ValidatingPolicy probe"
PROBE = {"MutatingPolicy probe", LAST}
HOOKS = {PolicyEngine.NATIVE: ["native-policies-in-force"], PolicyEngine.KYVERNO: ["kyverno-policies-in-force"]}


def registered(engine, found=None):
    """The policies of an engine after a resource that they need, and one that they guard."""

    def program():
        needed = pulumi.CustomResource("test:index:Needed", "needed")
        policies = COMPONENTS[engine](
            "policies", PoliciesArgs(POLICIES, API), pulumi.ResourceOptions(depends_on=[needed])
        )
        if found is not None:
            found.append(policies)
        guarded = pulumi.ResourceOptions(depends_on=[policies.last])
        pulumi.CustomResource("test:index:Guarded", "guarded", {}, guarded)

    return run(program)


def wait_as_the_engine(engine):
    """What the hook of the policies says."""
    found: list[Any] = []
    registered(engine, found)
    return asyncio.run(found[0].in_force.callback(pulumi.ResourceHookArgs("", "", "", "")))


@ENGINES
def test_every_object_is_a_child_of_the_component_with_pulumis_mark(engine):
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
def test_the_probe_depends_on_all_policies(engine):
    resources = registered(engine)

    # The engine registers no child before its component, nor removes what that needs before the children.
    assert resources[f"{COMPONENTS[engine].__name__} policies"].after == {"Needed needed"}
    assert {name: resources[name].after for name in OBJECTS | PROBE} == {
        **dict.fromkeys(OBJECTS, set()),
        "MutatingPolicy probe": OBJECTS,
        LAST: OBJECTS | {"MutatingPolicy probe"},
    }


@ENGINES
def test_guarded_resources_depend_on_the_last_policy_whose_change_waits_until_all_are_in_force(engine):
    """It is the probe's own policy, the one object that changes with every other."""
    resources = registered(engine)

    assert resources["Guarded guarded"].after == {LAST}
    hooks = resources[LAST].hooks
    assert hooks == hooks | {"after_create": HOOKS[engine], "after_update": HOOKS[engine]}
    assert not any(resources[name].hooks for name in OBJECTS | {"MutatingPolicy probe"})


def test_events_of_kyvernos_probe_are_deleted_before_it_changes():
    assert "before_update" not in registered(PolicyEngine.NATIVE)[LAST].hooks
    assert registered(PolicyEngine.KYVERNO)[LAST].hooks["before_update"] == ["kyverno-probe-refusals-forgotten"]


@ENGINES
def test_the_probe_is_created_in_fluxs_namespace(monkeypatch, engine):
    asked = []
    monkeypatch.setattr(tenancy_policies, "refusal", lambda *question: asked.append(question))
    monkeypatch.setattr(
        tenancy_policies, "wait_until_in_force", lambda *which: asked.append((*which[:2], which[2]({"kind": "A"})))
    )

    wait_as_the_engine(engine)

    assert asked == [(API, "/api/v1/namespaces/flux-system/configmaps", {"kind": "A"}), (engine, POLICIES.digest, None)]


@ENGINES
@pytest.mark.parametrize(
    "failure", [NotInForce("the policies are not in force"), ClusterUnavailable("kubeconfig", "cannot be reached")]
)
def test_policies_that_are_not_in_force_fail_the_step_that_waits(monkeypatch, engine, failure):
    def fail(*_):
        raise failure

    monkeypatch.setattr(tenancy_policies, "wait_until_in_force", fail)

    with pytest.raises(type(failure), match=str(failure)):
        wait_as_the_engine(engine)
