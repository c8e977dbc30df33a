"""What holds a tenant back in each of its namespaces (threats 20, 21 and 24)."""

import pytest
from sample_release import names, one
from sample_stack import load, problems

from components.configuration import TenancyConfig
from components.place import Place
from components.tenant_limits import limiting_objects
from components.tenant_role import tenant_role

PLACE = Place(name="dev-team", namespace="apps", labels={"toolkit.fluxcd.io/tenant": "dev-team"})


def limits(**tenancy):
    config = TenancyConfig.model_validate(tenancy)
    return limiting_objects(PLACE, config.limits, config.network_policy)


def test_every_flux_kind_that_a_tenant_may_create_is_counted():
    creatable = {
        f"count/{resource}.{group}"
        for rule in tenant_role(TenancyConfig())["rules"]
        if "create" in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if "fluxcd" in group
    }

    [quota] = limits(limits={"fluxObjects": 7})

    assert len(creatable) == 14
    assert quota["spec"]["hard"] == dict.fromkeys(creatable, "7")


def test_what_the_platform_limits_besides_stands_in_a_quota_of_its_own():
    found = limits(limits={"quota": {"requests.cpu": "4", "count/jobs.batch": "10"}})

    assert names(found, "ResourceQuota") == ["dev-team-flux-objects", "dev-team-quota"]
    assert found[1]["spec"]["hard"] == {"requests.cpu": "4", "count/jobs.batch": "10"}


def test_no_network_policy_unless_asked_for():
    assert names(limits(), "NetworkPolicy") == []


def test_pods_reach_their_own_tenant_and_dns_and_nothing_else():
    spec = one(limits(networkPolicy="default-deny"), "NetworkPolicy", "dev-team-default-deny")["spec"]

    own = {"namespaceSelector": {"matchLabels": {"toolkit.fluxcd.io/tenant": "dev-team"}}}
    dns = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    assert spec == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [own]}],
        "egress": [
            {"to": [own]},
            {"to": [dns], "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]},
        ],
    }


def test_all_are_the_tenants_and_named_after_it():
    found = limits(limits={"quota": {"pods": "1"}}, networkPolicy="default-deny")

    assert len(found) == 3
    for manifest in found:
        assert manifest["metadata"]["labels"] == PLACE.labels
        assert manifest["metadata"]["namespace"] == "apps"
        assert manifest["metadata"]["name"].startswith("dev-team-")


@pytest.mark.parametrize(
    ("tenancy", "problem"),
    [
        ({"limits": {"fluxObjects": 0}}, "tenancy.limits.fluxObjects: "),
        ({"limits": {"quota": {"pods": "many"}}}, "tenancy.limits.quota.pods: 'many' is not a quantity of Kubernetes"),
        (
            {"limits": {"quota": {"count/receivers.notification.toolkit.fluxcd.io": "1"}}},
            "tenancy.limits.quota.count/receivers.notification.toolkit.fluxcd.io: "
            "'count/receivers.notification.toolkit.fluxcd.io' is not a resource of a ResourceQuota, other than Flux's",
        ),
        ({"networkPolicy": "deny"}, "tenancy.networkPolicy: 'deny' is not one of 'none' or 'default-deny'"),
    ],
)
def test_limits_that_are_none_are_refused(tmp_path, tenancy, problem):
    [found] = problems(tmp_path, tenancy=tenancy)
    assert found.startswith(f"Pulumi.staging.yaml: {problem}")


def test_a_stack_says_them_once_for_all_tenants(tmp_path):
    stack = load(
        tmp_path, tenancy={"limits": {"fluxObjects": 5, "quota": {"pods": "20"}}, "networkPolicy": "default-deny"}
    )
    assert (stack.tenancy.limits.flux_objects, stack.tenancy.limits.quota) == (5, {"pods": "20"})
