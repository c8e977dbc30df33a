"""What holds a tenant back in each of its namespaces (threats 20, 21 and 24)."""

import pytest
from sample_release import names, one
from sample_stack import load, problems, tenant_config

from components.cluster.object_meta import ObjectMeta
from components.config.config_wordings import NOT_A_QUANTITY
from components.git.config import Webhook
from components.stack.config_wordings import NOT_ONE_OF
from components.tenant.config import TenancyConfig
from components.tenant.config_wordings import NOT_A_QUOTA_RESOURCE
from components.tenant.limits import OBJECT_COUNTS, limiting_objects, room_for
from components.tenant.role import MANAGED, tenant_role

RECEIVERS = "count/receivers.notification.toolkit.fluxcd.io"
SYNCS = "count/kustomizations.kustomize.toolkit.fluxcd.io"
RELEASES = "count/helmreleases.helm.toolkit.fluxcd.io"
ROOM = {RECEIVERS: 1, SYNCS: 1, "count/secrets": 8}
PLACE = ObjectMeta(name="dev-team", namespace="apps", labels={"toolkit.fluxcd.io/tenant": "dev-team"})


def limits(**tenancy):
    config = TenancyConfig.model_validate(tenancy)
    return limiting_objects(PLACE, config.limits, config.network_policy, ROOM)


def test_every_flux_kind_that_a_tenant_may_create_is_counted():
    creatable = {
        f"count/{resource}.{group}"
        for rule in tenant_role(TenancyConfig())["rules"]
        if "create" in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if "fluxcd" in group
    }

    quota = one(limits(limits={"fluxObjects": 7}), "ResourceQuota", "dev-team-flux-objects")

    assert len(creatable) == 14
    assert quota["spec"]["hard"] == dict.fromkeys(creatable, "7") | {RECEIVERS: "8", SYNCS: "6"}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ({}, "6"),
        ({"fluxObjects": 200}, "6"),
        ({"fluxObjects": 4}, "5"),
        ({"kustomizations": 30}, "31"),
        ({"kustomizations": 30, "fluxObjects": 20}, "21"),
    ],
)
def test_a_tenant_has_few_kustomizations_of_its_own_since_flux_builds_one_at_a_time(limit, expected):
    quota = one(limits(limits=limit), "ResourceQuota", "dev-team-flux-objects")["spec"]["hard"]

    assert quota[SYNCS] == expected
    assert int(quota[RELEASES]) == limit.get("fluxObjects", 100)


def counts(**limit):
    return one(limits(limits=limit), "ResourceQuota", "dev-team-objects")["spec"]["hard"]


def test_every_kind_of_kubernetes_that_a_tenant_may_create_is_counted():
    creatable = {
        f"count/{resource}.{group}".rstrip(".")
        for group, resources in MANAGED
        for resource in resources
        if "fluxcd" not in group and "/" not in resource
    }

    assert creatable < set(counts())
    assert {key for key in counts() if not key.startswith("count/")} == {"services.loadbalancers"}


def test_what_the_platform_has_there_comes_on_top_of_what_a_tenant_may_have():
    assert counts()["count/secrets"] == str(OBJECT_COUNTS["secrets"] + 8)
    assert counts()["count/cronjobs.batch"] == str(OBJECT_COUNTS["cronjobs.batch"])


def test_a_stack_counts_otherwise_or_not_at_all():
    found = counts(objects={"jobs.batch": 5, "leases.coordination.k8s.io": None, "backups.velero.io": 3})

    assert (found["count/jobs.batch"], found["count/backups.velero.io"]) == ("5", "3")
    assert "count/leases.coordination.k8s.io" not in found


@pytest.mark.parametrize(
    ("count", "quantity"), [(999, "999"), (1000, "1k"), (1001, "1001"), (2_000_000, "2M"), (0, "0")]
)
def test_a_number_is_written_as_the_api_server_writes_it(count, quantity):
    assert counts(objects={"backups.velero.io": count})["count/backups.velero.io"] == quantity


def test_what_a_stacks_own_quota_counts_takes_the_place_of_a_default():
    found = counts(quota={"pods": "900", "count/secrets": "3000"})

    assert {"count/pods", "count/secrets"} & set(found) == set()


def test_a_home_has_room_for_the_platforms_objects_and_other_namespaces_for_what_is_in_each():
    config = tenant_config(namespaces=[{"name": "apps"}, {"name": "apps-jobs"}])
    source = config.source.model_copy(update={"webhook": Webhook(type="github")})
    announced = config.model_copy(update={"source": source})

    assert RECEIVERS not in room_for(config, "apps")
    assert room_for(announced, "apps")[RECEIVERS] == 1
    assert room_for(announced, "apps")["count/secrets"] == 8
    in_each = {"count/configmaps": 1, "count/serviceaccounts": 1, "count/rolebindings.rbac.authorization.k8s.io": 1}
    assert room_for(announced, "apps-jobs") == in_each


def test_no_limits_of_containers_unless_asked_for():
    assert names(limits(), "LimitRange") == []

    found = limits(limits={"containers": {"requests": {"cpu": "50m"}, "maximum": {"memory": "4Gi"}}})

    item = {"type": "Container", "defaultRequest": {"cpu": "50m"}, "max": {"memory": "4Gi"}}
    assert one(found, "LimitRange", "dev-team-containers")["spec"] == {"limits": [item]}


def test_what_the_platform_limits_besides_stands_in_a_quota_of_its_own():
    found = limits(limits={"quota": {"requests.cpu": "4", "count/jobs.batch": "10"}})

    assert names(found, "ResourceQuota") == ["dev-team-flux-objects", "dev-team-objects", "dev-team-quota"]
    assert found[2]["spec"]["hard"] == {"requests.cpu": "4", "count/jobs.batch": "10"}


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

    assert len(found) == 4
    for manifest in found:
        assert manifest["metadata"]["labels"] == PLACE.labels
        assert manifest["metadata"]["namespace"] == "apps"
        assert manifest["metadata"]["name"].startswith("dev-team-")


@pytest.mark.parametrize(
    ("tenancy", "problem"),
    [
        ({"limits": {"fluxObjects": 0}}, "tenancy.limits.fluxObjects: "),
        ({"limits": {"quota": {"pods": "many"}}}, "tenancy.limits.quota.pods: " + NOT_A_QUANTITY().of("many")),
        (
            {"limits": {"quota": {"count/receivers.notification.toolkit.fluxcd.io": "1"}}},
            "tenancy.limits.quota.count/receivers.notification.toolkit.fluxcd.io: "
            + NOT_A_QUOTA_RESOURCE().of("count/receivers.notification.toolkit.fluxcd.io"),
        ),
        (
            {"networkPolicy": "deny"},
            "tenancy.networkPolicy: " + NOT_ONE_OF(choices="'none' or 'default-deny'", given="'deny'"),
        ),
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
