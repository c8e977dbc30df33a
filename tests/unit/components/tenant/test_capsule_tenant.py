"""The objects of a tenant in a stack with `tenancy.mode: capsule`."""

import pytest
from sample_plan import tenant_objects
from sample_stack import tenant_config

from flux_tenancy.components.policies.native_only import limits_first
from flux_tenancy.components.policies.policy_files import read_objects
from flux_tenancy.components.tenant.capsule.config import LIMIT_LABEL
from flux_tenancy.components.tenant.capsule.objects import replication_objects
from flux_tenancy.components.tenant.config import TenancyConfig, TenantConfig
from flux_tenancy.components.vocabulary.manifests import name_of
from tests.support.goldens import assert_golden

NAMESPACES = [{"name": "apps"}, {"name": "dev-team-jobs"}]


def tenancy(**capsule) -> TenancyConfig:
    return TenancyConfig.model_validate({"mode": "capsule", "capsule": capsule})


def objects(config: TenantConfig, **capsule):
    return tenant_objects("dev-team", config, tenancy(**capsule))


def spec_of(config: TenantConfig, **capsule):
    return objects(config, **capsule).capsule[0]["spec"]


def made_rule(config: TenantConfig):
    return spec_of(config)["rules"][0]


@pytest.mark.golden
def test_a_tenant_of_capsule_has_exactly_these_objects():
    config = tenant_config(
        namespaces=NAMESPACES,
        policies={"images": ["registry.example.com/org/*"]},
        people={"viewers": [{"kind": "Group", "name": "dev-team"}]},
        capsule={
            "namespaces": 3,
            "quota": {"pods": "20"},
            "nodeSelector": {"pool": "apps"},
            "ingressClasses": ["nginx"],
        },
    )

    found = objects(config)

    owners = [each for each in found.access if each["kind"] == "TenantOwner"]
    of_policies = [*limits_first(TenancyConfig()), *read_objects("made-settings")]
    assert_golden("capsule-dev-team.yaml", [*found.capsule, *owners, *replication_objects(), *of_policies])


def test_without_capsule_nothing_is_its_own():
    found = tenant_objects("dev-team", tenant_config(namespaces=NAMESPACES), TenancyConfig())

    assert found.capsule == []
    assert {each["kind"] for each in found.access} == {"RoleBinding"}
    assert not any("capsule.clastix.io/tenant" in each["metadata"]["labels"] for each in found.namespaces)


def test_capsule_owns_all_namespaces_of_the_stack_but_the_home():
    owner = [
        each["metadata"]["labels"].get("capsule.clastix.io/tenant")
        for each in objects(tenant_config(namespaces=NAMESPACES)).namespaces
    ]

    assert owner == [None, "dev-team"]


@pytest.mark.parametrize(("namespaces", "forced"), [(NAMESPACES, True), ([*NAMESPACES, {"name": "jobs"}], False)])
def test_capsule_forces_the_prefix_where_the_stacks_own_namespaces_have_it(namespaces, forced):
    assert spec_of(tenant_config(namespaces=namespaces))["forceTenantPrefix"] is forced


def test_a_tenants_own_limits_replace_those_of_the_stack_one_by_one():
    config = tenant_config(capsule={"namespaces": 2, "storageClasses": ["fast"]})

    spec = spec_of(config, namespaces=9, storageClasses=["slow"], priorityClasses=["low"])

    assert spec["namespaceOptions"] == {"quota": 2}
    assert spec["storageClasses"] == {"allowed": ["fast"]}
    assert spec["priorityClasses"] == {"allowed": ["low"]}


def test_a_made_namespace_has_what_policies_read_except_grants():
    exceptions = [{"policy": "node-placement", "names": ["agent"]}]
    config = tenant_config(
        grants=[{"reason": "a node agent", "serviceTypes": ["LoadBalancer"], "exceptions": exceptions}],
        policies={"hosts": ["shop.example.com"]},
    )

    annotations = made_rule(config)["enforce"]["metadata"][0]["annotations"]

    assert annotations["flux-tenancy/hosts"]["managed"] == "shop.example.com"
    assert not {"flux-tenancy/service-types", "flux-tenancy/exceptions"} & annotations.keys()
    assert set(annotations["flux-tenancy/settings"]["managed"].split()) == annotations.keys()


def test_a_tenant_that_is_leaving_has_its_limits_and_no_access():
    config = tenant_config(state="leaving")

    tenant, replication = objects(config).capsule

    assert "permissions" not in tenant["spec"]["rules"][0]
    assert replication["kind"] == "GlobalTenantResource"


def test_the_owner_gets_no_role_of_capsules_own_choice():
    """An empty list would become `admin` and `capsule-namespace-deleter`."""
    [owner] = [each for each in objects(tenant_config()).access if each["kind"] == "TenantOwner"]

    assert owner["spec"]["name"] == "system:serviceaccount:apps:dev-team"
    assert owner["spec"]["clusterRoles"] == ["flux-tenancy-own-namespace"]


def test_the_same_tenant_differs_between_the_modes_by_capsules_objects_and_label_alone():
    """So production may be in one mode, and staging in the other."""
    people = {"viewers": [{"kind": "User", "name": "ann"}]}
    config = tenant_config(namespaces=NAMESPACES, syncs={"jobs": {}}, people=people)

    def all_of(found):
        inside = [*found.namespaces, *found.limits, found.identity, *found.access, *found.applied, *found.people]
        return {(each["kind"], name_of(each)): each for each in inside}

    without, with_capsule = all_of(tenant_objects("dev-team", config, TenancyConfig())), all_of(objects(config))

    assert with_capsule.keys() - without.keys() == {("TenantOwner", "dev-team")}
    changed = [key for key in without if with_capsule[key] != without[key]]
    assert changed == [("Namespace", "dev-team-jobs")]
    assert with_capsule[changed[0]]["metadata"]["labels"].pop("capsule.clastix.io/tenant") == "dev-team"
    assert with_capsule == without | {key: with_capsule[key] for key in [("TenantOwner", "dev-team")]}


def test_a_made_namespace_waits_for_its_limits_and_for_nothing_that_comes_before_them():
    """The API server denies what a policy matches without its parameter, whoever asks."""
    policies = [each for each in limits_first(TenancyConfig()) if each["kind"] == "ValidatingAdmissionPolicy"]

    assert {each["spec"]["paramKind"]["kind"] for each in policies} == {"LimitRange", "NetworkPolicy", "ResourceQuota"}
    for policy in policies:
        rules = policy["spec"]["matchConstraints"]["resourceRules"]
        waiting = {f"{name}.{rule['apiGroups'][0]}" for rule in rules for name in rule["resources"]}
        assert {"pods.", "services.", "deployments.apps", "kustomizations.kustomize.toolkit.fluxcd.io"} <= waiting
        excluded = {each["resources"][0]: each["resourceNames"] for each in _excluded(policy)}
        assert excluded == {"configmaps": ["kube-root-ca.crt"], "serviceaccounts": ["default"]}
        first = {"limitranges.", "resourcequotas."}
        first |= {"networkpolicies.networking.k8s.io", "rolebindings.rbac.authorization.k8s.io"}
        assert not waiting & (first | {"rulestatuses.capsule.clastix.io"})


def _excluded(policy):
    return policy["spec"]["matchConstraints"]["excludeResourceRules"]


def test_a_made_namespace_waits_for_every_limit_that_the_stack_sets():
    limits = {"quota": {"pods": "5"}, "containers": {"requests": {"cpu": "50m"}}}
    tenancy = TenancyConfig.model_validate({"mode": "capsule", "limits": limits})
    replicated = tenant_objects("dev-team", tenant_config(namespaces=NAMESPACES), tenancy).capsule[1]
    [items] = replicated["spec"]["resources"]
    made = {(each["kind"], each["metadata"]["labels"][LIMIT_LABEL]) for each in items["rawItems"]}
    policies = limits_first(tenancy)
    kinds = {
        each["metadata"]["name"]: each["spec"]["paramKind"]["kind"] for each in policies if "paramKind" in each["spec"]
    }

    bindings = [each["spec"] for each in policies if each["kind"].endswith("Binding")]

    waiting = {
        (kinds[each["policyName"]], each["paramRef"]["selector"]["matchLabels"][LIMIT_LABEL]) for each in bindings
    }
    assert waiting == made
    assert len(waiting) == 5
