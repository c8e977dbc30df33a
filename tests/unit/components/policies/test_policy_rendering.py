"""One policy as the objects of both engines."""

import pytest

from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.policies.policy import Policy, PolicyName, Requester, Resources, Validation
from flux_tenancy.components.policies.rendering import kyverno, native

RENDERERS = pytest.mark.parametrize("render", [native, kyverno])


def policy(**changes):
    fields = {
        "name": PolicyName.NO_KUBECONFIG,
        "refuses": "kubeconfigs",
        "threats": (15,),
        "subject": Requester.CONTENT,
        "resources": (Resources("", ("pods",)),),
        "validations": (Validation("a || b", "'no'"),),
        "conditions": {"own": "c"},
        "variables": {"first": "d"},
    }
    return Policy(**fields | changes)


def spec(render, mode=PolicyMode.ENFORCE, **changes):
    return render(policy(**changes), mode)[0]["spec"]


@pytest.mark.parametrize(("mode", "actions"), [(PolicyMode.ENFORCE, ["Deny"]), (PolicyMode.AUDIT, ["Audit", "Warn"])])
def test_a_native_policy_has_a_binding_and_kyverno_autogenerates_no_rules(mode, actions):
    rendered, binding = native(policy(), mode)
    [of_kyverno] = kyverno(policy(), mode)

    kinds = [each["kind"] for each in (rendered, binding, of_kyverno)]
    assert kinds == ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingPolicy"]
    assert rendered["metadata"] == binding["metadata"] == {"name": "flux-tenancy-no-kubeconfig"}
    assert binding["spec"] == {"policyName": "flux-tenancy-no-kubeconfig", "validationActions": actions}
    assert of_kyverno["spec"]["validationActions"] == actions
    assert of_kyverno["spec"]["autogen"] == {"podControllers": {"controllers": []}}
    assert rendered["spec"]["failurePolicy"] == of_kyverno["spec"]["failurePolicy"] == "Fail"


def test_kyverno_reports_existing_content_but_not_policies_about_users():
    found = [subject for subject in Requester if spec(kyverno, subject=subject)["evaluation"]["background"]["enabled"]]

    assert found == [Requester.CONTENT]


@RENDERERS
def test_content_is_checked_when_the_part_that_is_read_changes(render):
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
def test_the_platforms_rights_are_evaluated_last(render):
    rendered = spec(render, subject=Requester.TENANTS)

    assert rendered["validations"][0]["expression"] == "(a || b) || variables.platform"
    assert [variable["name"] for variable in rendered["variables"]] == ["first", "platform"]
    conditions = [condition["name"] for condition in rendered["matchConditions"]]
    assert conditions == ["not-by-a-controller", "not-by-a-node", "own"]


@RENDERERS
def test_only_namespaced_objects_of_tenants_are_matched(render):
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
def test_cluster_scoped_objects_have_no_namespace_selector(render):
    constraints = spec(render, tenant_namespaces_only=False)["matchConstraints"]

    assert "namespaceSelector" not in constraints
    assert constraints["resourceRules"][0]["scope"] == "Cluster"


@RENDERERS
def test_a_failing_message_expression_has_a_fallback(render):
    [validation] = spec(render)["validations"]

    assert validation["messageExpression"] == "'no'"
    assert validation["message"] == "refused by the policy no-kubeconfig: kubeconfigs"
