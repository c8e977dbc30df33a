"""One policy as the objects of both engines."""

import pytest

from components.policies.config import PolicyMode
from components.policies.kyverno import kyverno
from components.policies.names import PolicyName
from components.policies.native import native
from components.policies.policy import Policy, Resources, Subject, Validation

RENDERERS = pytest.mark.parametrize("render", [native, kyverno])


def policy(**changes):
    fields = {
        "name": PolicyName.NO_KUBECONFIG,
        "refuses": "kubeconfigs",
        "threats": (15,),
        "subject": Subject.CONTENT,
        "resources": (Resources("", ("pods",)),),
        "validations": (Validation("a || b", "'no'"),),
        "conditions": {"own": "c"},
        "variables": {"first": "d"},
    }
    return Policy(**fields | changes)


def spec(render, mode=PolicyMode.ENFORCE, **changes):
    return render(policy(**changes), mode)[0]["spec"]


def test_native_is_a_policy_and_its_binding():
    rendered, binding = native(policy(), PolicyMode.ENFORCE)

    assert rendered["kind"] == "ValidatingAdmissionPolicy"
    assert binding["kind"] == "ValidatingAdmissionPolicyBinding"
    assert binding["spec"] == {"policyName": "flux-tenancy-no-kubeconfig", "validationActions": ["Deny"]}
    assert rendered["metadata"] == binding["metadata"] == {"name": "flux-tenancy-no-kubeconfig"}


def test_kyverno_adds_no_kinds_of_its_own():
    [rendered] = kyverno(policy(), PolicyMode.ENFORCE)

    assert rendered["kind"] == "ValidatingPolicy"
    assert rendered["spec"]["validationActions"] == ["Deny"]
    assert rendered["spec"]["autogen"] == {"podControllers": {"controllers": []}}


def test_kyverno_reports_on_what_is_there_and_not_on_who_might_have_put_it_there():
    found = [spec(kyverno, subject=subject)["evaluation"]["background"]["enabled"] for subject in Subject]

    assert found == [True, False]


def test_audit_lets_pass_and_warns():
    assert native(policy(), PolicyMode.AUDIT)[1]["spec"]["validationActions"] == ["Audit", "Warn"]
    assert kyverno(policy(), PolicyMode.AUDIT)[0]["spec"]["validationActions"] == ["Audit", "Warn"]


@RENDERERS
def test_a_policy_that_cannot_be_evaluated_refuses(render):
    assert spec(render)["failurePolicy"] == "Fail"


@RENDERERS
def test_content_is_judged_when_what_is_read_of_it_changes(render):
    rendered = spec(render, reads="{object}.?spec.?template")

    assert rendered["matchConditions"] == [
        {
            "name": "changes-content",
            "expression": "request.operation == 'CREATE' || object.?spec.?template != oldObject.?spec.?template",
        },
        {"name": "own", "expression": "c"},
    ]
    assert rendered["validations"][0]["expression"] == "a || b"
    assert rendered["variables"] == [{"name": "first", "expression": "d"}]


@RENDERERS
def test_tenants_are_judged_before_the_platform_is_asked_for(render):
    rendered = spec(render, subject=Subject.TENANTS)

    assert rendered["validations"][0]["expression"] == "(a || b) || variables.platform"
    assert [variable["name"] for variable in rendered["variables"]] == ["first", "platform"]
    conditions = [condition["name"] for condition in rendered["matchConditions"]]
    assert conditions == ["not-by-a-controller", "not-by-a-node", "own"]


@RENDERERS
def test_only_tenants_namespaces_are_looked_into_and_nothing_of_the_cluster(render):
    constraints = spec(render)["matchConstraints"]

    assert constraints["namespaceSelector"] == {
        "matchExpressions": [{"key": "toolkit.fluxcd.io/tenant", "operator": "Exists"}]
    }
    assert constraints["resourceRules"] == [
        {
            "scope": "Namespaced",
            "apiGroups": [""],
            "apiVersions": ["*"],
            "resources": ["pods"],
            "operations": ["CREATE", "UPDATE"],
        }
    ]


@RENDERERS
def test_what_has_no_namespace_is_selected_by_none(render):
    constraints = spec(render, tenant_namespaces_only=False)["matchConstraints"]

    assert "namespaceSelector" not in constraints
    assert constraints["resourceRules"][0]["scope"] == "Cluster"


@RENDERERS
def test_a_message_that_fails_has_another_to_stand_in(render):
    [validation] = spec(render)["validations"]

    assert validation["messageExpression"] == "'no'"
    assert validation["message"] == "refused by the policy no-kubeconfig: kubeconfigs"
