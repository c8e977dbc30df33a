"""Onboarding by label: the objects of a listed tenant, with Kyverno's placeholders in place of names."""

import json

import pytest
from sample_plan import tenant_objects
from sample_release import one
from sample_stack import flux_config, tenant_config

from flux_tenancy.components.installs.flux.controller_rights import SHARED_IMPERSONATION, impersonation_objects
from flux_tenancy.components.installs.kyverno import generated_by
from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.policies.kyverno_only import background_rules, onboarding
from flux_tenancy.components.policies.native_only import TENANT_NAME, is_free, tenant_labels
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.role import TENANT_ROLE
from flux_tenancy.components.tenant.scope import tenant_meta

NAME, LISTED = "flux-tenancy-onboarding", "flux-tenancy-listed-tenants"
PLURALS = {
    "LimitRange": "limitranges",
    "NetworkPolicy": "networkpolicies",
    "ResourceQuota": "resourcequotas",
    "RoleBinding": "rolebindings",
    "ServiceAccount": "serviceaccounts",
}
FLUX = flux_config()
TENANCY = TenancyConfig.model_validate({"networkPolicy": "default-deny", "limits": {"quota": {"pods": "9"}}})


def spec(kind, tenancy=TENANCY, flux=FLUX):
    return one(onboarding(tenancy, flux), kind, NAME)["spec"]


@pytest.mark.parametrize("kinds", [(), ("Alert", "Receiver")])
def test_a_labelled_namespace_gets_the_objects_of_a_listed_tenant(kinds):
    listed = tenant_objects("dev-team", tenant_config(namespaces=[{"name": "apps"}]), TENANCY)

    tenancy = TENANCY.model_copy(update={"kinds": kinds})
    labelled = generated_by(one(onboarding(tenancy, FLUX), "GeneratingPolicy", NAME), "dev-team", "apps")

    def by_name(manifests):
        return {(each["kind"], each["metadata"]["name"]): each for each in manifests}

    bindings = impersonation_objects(tenant_meta("dev-team", "apps"), [], FLUX, receivers="Receiver" in kinds)[1:]
    assert len(bindings) == (3 if kinds else 2)
    impersonation = by_name(labelled).pop(("RoleBinding", "flux-impersonation"))
    assert by_name(labelled) == by_name([listed.identity, *listed.access, *listed.limits, *bindings, impersonation])
    assert impersonation["roleRef"]["name"] == SHARED_IMPERSONATION
    assert {(each["namespace"], each["name"]) for each in impersonation["subjects"]} == {
        ("flux-system", "kustomize-controller-impersonator"),
        ("flux-system", "helm-controller-impersonator"),
    }


def test_controllers_with_all_rights_get_no_binding_in_a_labelled_namespace():
    flux = flux_config(controllerRights="release")

    kinds = [json.loads(each["template"]["value"])["kind"] for each in spec("GeneratingPolicy", flux=flux)["generate"]]

    assert kinds.count("RoleBinding") == 1
    assert SHARED_IMPERSONATION not in json.dumps(background_rules(flux))


def test_names_are_kyvernos_placeholders():
    [identity, binding, *_] = [json.loads(each["template"]["value"]) for each in spec("GeneratingPolicy")["generate"]]

    assert {each["template"]["interpolate"] for each in spec("GeneratingPolicy")["generate"]} == {"cel"}
    assert identity["metadata"]["name"] == "(( variables.tenant ))"
    assert binding["metadata"] == {
        "name": "(( variables.tenant ))-reconciler",
        "namespace": "(( object.metadata.name ))",
        "labels": {"toolkit.fluxcd.io/tenant": "(( variables.tenant ))"},
    }


def test_a_labelled_namespace_has_a_network_policy_even_if_listed_ones_have_none():
    kinds = [
        json.loads(each["template"]["value"])["kind"]
        for each in spec("GeneratingPolicy", tenancy=TenancyConfig())["generate"]
    ]
    limits = ["ResourceQuota", "ResourceQuota", "LimitRange", "NetworkPolicy"]
    assert kinds == ["ServiceAccount", *["RoleBinding"] * 3, *limits]


def test_generated_objects_are_synchronized_and_outlive_the_policy():
    assert spec("GeneratingPolicy")["evaluation"] == {
        "generateExisting": {"enabled": True},
        "synchronize": {"enabled": True},
        "orphanDownstreamOnPolicyDelete": {"enabled": True},
    }


@pytest.mark.parametrize("kind", ["GeneratingPolicy", "MutatingPolicy"])
def test_namespaces_of_listed_tenants_are_left_to_pulumi(kind):
    [labelled] = [each["expression"] for each in spec(kind)["matchConditions"] if each["name"] == "labelled"]
    [namespace] = tenant_objects("dev-team", tenant_config(), TENANCY).namespaces

    mark = namespace["metadata"]["labels"]["app.kubernetes.io/managed-by"]
    assert labelled.endswith(f'object.metadata.labels["app.kubernetes.io/managed-by"] != "{mark}")')


def test_pod_security_is_restricted_unless_the_platform_sets_another_level():
    [mutation] = spec("MutatingPolicy")["mutations"]
    [namespace] = tenant_objects("dev-team", tenant_config(), TENANCY).namespaces

    for key, value in namespace["metadata"]["labels"].items():
        if key.startswith("pod-security"):
            default = f'"{key}": object.metadata.labels[?"{key}"].orValue("{value}")'
            assert default in mutation["applyConfiguration"]["expression"]
            assert f'"{key}" in object.metadata.labels' in spec("GeneratingPolicy")["matchConditions"][-1]["expression"]


def test_a_namespace_gets_nothing_where_its_name_or_the_tenants_is_reserved():
    conditions = {each["name"]: each["expression"] for each in spec("GeneratingPolicy")["matchConditions"]}

    assert conditions["possible"] == f"{is_free(TENANT_NAME)} && {is_free('object.metadata.name')}"


def test_kyverno_may_bind_only_the_roles_that_tenants_need():
    rules = background_rules(FLUX)
    [bind] = [rule for rule in rules if "bind" in rule["verbs"]]
    writable = {resource for rule in rules if "create" in rule["verbs"] for resource in rule["resources"]}

    assert (bind["resources"], bind["verbs"]) == (["clusterroles"], ["bind"])
    assert bind["resourceNames"] == [
        TENANT_ROLE,
        SHARED_IMPERSONATION,
        "flux-tenancy-secrets",
        "flux-tenancy-receivers",
    ]
    tenancy = TenancyConfig.model_validate({"limits": {"containers": {"limits": {"memory": "1Gi"}}}})
    templates = spec("GeneratingPolicy", tenancy=tenancy)["generate"]
    generated = {json.loads(each["template"]["value"])["kind"] for each in templates}
    assert writable == {PLURALS[kind] for kind in generated}
    assert not {"*", "escalate", "impersonate"} & {verb for rule in rules for verb in rule["verbs"]}


def test_only_where_tenants_make_namespaces_does_capsules_owner_reference_let_one_join_a_listed_tenant():
    with_capsule, without = (
        one(tenant_labels(PolicyMode.ENFORCE, makes_namespaces=makes), "ValidatingAdmissionPolicy", LISTED)["spec"]
        for makes in (True, False)
    )

    assert "ownerReferences" in json.dumps(with_capsule)
    assert "ownerReferences" not in json.dumps(without)
