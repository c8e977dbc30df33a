"""The limits of a tenant in each of its namespaces: quotas, container limits and the network policy."""

import pytest
from sample_plan import room_for, tenant_scope
from sample_release import names, one
from sample_stack import load, problems, refusals, tenant_config

from flux_tenancy.components.git.config import Webhook
from flux_tenancy.components.tenant.annotations import namespace_annotations
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.limits import (
    OBJECT_COUNTS,
    limiting_objects,
    planned_limits,
    with_network_policies,
)
from flux_tenancy.components.tenant.role import MANAGED, tenant_role
from flux_tenancy.components.vocabulary.names import ObjectMeta
from tests.support.messages import said

SLOW = {"url": "https://git.example.com/dev-team/apps", "interval": "2h", "timeout": "1s"}
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
def test_a_tenant_has_few_kustomizations_since_flux_builds_one_at_a_time(limit, expected):
    quota = one(limits(limits=limit), "ResourceQuota", "dev-team-flux-objects")["spec"]["hard"]

    assert quota[SYNCS] == expected
    assert int(quota[RELEASES]) == min(limit.get("fluxObjects", 16), 16)


def counts(**limit):
    return one(limits(limits=limit), "ResourceQuota", "dev-team-objects")["spec"]["hard"]


def test_every_kubernetes_kind_that_a_tenant_may_create_is_counted():
    creatable = {
        f"count/{resource}.{group}".rstrip(".")
        for group, resources in MANAGED
        for resource in resources
        if "fluxcd" not in group and "/" not in resource
    }

    assert creatable < set(counts())
    assert {key for key in counts() if not key.startswith("count/")} == {"services.loadbalancers"}


def test_the_platforms_own_objects_are_added_to_a_tenants_limits():
    assert counts()["count/secrets"] == str(OBJECT_COUNTS["secrets"] + 8)
    assert counts()["count/cronjobs.batch"] == str(OBJECT_COUNTS["cronjobs.batch"])


def test_a_stack_can_change_or_remove_counts():
    found = counts(objects={"jobs.batch": 5, "leases.coordination.k8s.io": None, "backups.velero.io": 3})

    assert (found["count/jobs.batch"], found["count/backups.velero.io"]) == ("5", "3")
    assert "count/leases.coordination.k8s.io" not in found


@pytest.mark.parametrize(
    ("count", "quantity"), [(999, "999"), (1000, "1k"), (1001, "1001"), (2_000_000, "2M"), (0, "0")]
)
def test_a_number_has_the_api_servers_canonical_form(count, quantity):
    assert counts(objects={"backups.velero.io": count})["count/backups.velero.io"] == quantity


def test_a_stacks_own_quota_replaces_a_default():
    found = counts(quota={"pods": "900", "count/secrets": "3000"})

    assert {"count/pods", "count/secrets"} & set(found) == set()


def test_only_the_home_namespace_has_room_for_the_platforms_source_and_sync():
    config = tenant_config(namespaces=[{"name": "apps"}, {"name": "apps-jobs"}])
    assert config.source is not None
    source = config.source.model_copy(update={"webhook": Webhook(type="github")})
    announced = config.model_copy(update={"source": source})

    assert RECEIVERS not in room_for(config, "apps")
    assert room_for(announced, "apps")[RECEIVERS] == 1
    assert room_for(announced, "apps")["count/secrets"] == 8
    in_each = {"count/configmaps": 1, "count/serviceaccounts": 1, "count/rolebindings.rbac.authorization.k8s.io": 1}
    assert room_for(announced, "apps-jobs") == in_each


def test_notifications_count_against_no_limit_of_the_tenant_even_while_their_secrets_are_replaced():
    chat = {"type": "alertmanager", "address": "https://alertmanager.example.com"}
    tenancy = TenancyConfig.model_validate({"notifications": dict.fromkeys(("a", "b", "c"), chat)})
    alone, notified = room_for(tenant_config(), "apps"), room_for(tenant_config(), "apps", tenancy)

    assert notified == alone | {
        "count/secrets": 8 + 6,
        "count/alerts.notification.toolkit.fluxcd.io": 3,
        "count/providers.notification.toolkit.fluxcd.io": 3,
    }


DISK = "ephemeral-storage"
ON_DISK = {"defaultRequest": {DISK: "64Mi"}, "default": {DISK: "4Gi"}, "max": {DISK: "16Gi"}}


def container(**bounds):
    [item] = one(limits(limits={"containers": bounds}), "LimitRange", "dev-team-containers")["spec"]["limits"]
    assert item.pop("type") == "Container"
    return item


def test_by_default_a_container_has_limits_of_its_nodes_disk_alone():
    assert container() == ON_DISK

    found = container(requests={"cpu": "50m"}, maximum={"memory": "4Gi"})

    assert found == {
        "defaultRequest": {"cpu": "50m", DISK: "64Mi"},
        "default": {DISK: "4Gi"},
        "max": {"memory": "4Gi", DISK: "16Gi"},
    }


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"limits": "20Gi"}, ("64Mi", "20Gi", "20Gi")),
        ({"limits": "1Gi"}, ("64Mi", "1Gi", "16Gi")),
        ({"maximum": "2Gi"}, ("64Mi", "2Gi", "2Gi")),
        ({"maximum": "32Mi"}, ("32Mi", "32Mi", "32Mi")),
        ({"requests": "5Gi"}, ("5Gi", "5Gi", "16Gi")),
        ({"minimum": "20Gi"}, ("20Gi", "20Gi", "20Gi")),
        ({"minimum": "1Gi", "limits": "8Gi"}, ("1Gi", "8Gi", "16Gi")),
        ({"maximum": None}, ("64Mi", "4Gi", None)),
    ],
)
def test_bounds_of_the_disk_that_are_not_set_go_together_with_those_that_are(bounds, expected):
    found = container(**{name: {DISK: value} for name, value in bounds.items()})

    assert tuple(found.get(field, {}).get(DISK) for field in ON_DISK) == expected


def test_a_stack_can_remove_the_bounds_of_the_disk():
    removed = {name: {DISK: None} for name in ("requests", "limits", "maximum")}

    assert names(limits(limits={"containers": removed}), "LimitRange") == []


def test_other_limits_of_the_platform_are_in_a_separate_quota():
    found = limits(limits={"quota": {"requests.cpu": "4", "count/jobs.batch": "10"}})

    assert names(found, "ResourceQuota") == ["dev-team-flux-objects", "dev-team-objects", "dev-team-quota"]
    assert found[2]["spec"]["hard"] == {"requests.cpu": "4", "count/jobs.batch": "10"}


def test_pods_can_connect_only_to_their_own_tenant_and_dns():
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


def test_all_limits_have_the_tenants_label_and_name():
    found = limits(limits={"quota": {"pods": "1"}}, networkPolicy="default-deny")

    assert len(found) == 5
    for manifest in found:
        assert manifest["metadata"]["labels"] == PLACE.labels
        assert manifest["metadata"]["namespace"] == "apps"
        assert manifest["metadata"]["name"].startswith("dev-team-")


@pytest.mark.parametrize(
    ("tenancy", "problem"),
    [
        ({"limits": {"fluxObjects": 0}}, "limits.fluxObjects FT-CFG-609"),
        ({"limits": {"quota": {"pods": "many"}}}, "limits.quota.pods FT-CFG-006"),
        ({"limits": {"quota": {RECEIVERS: "1"}}}, f'limits.quota["{RECEIVERS}"] FT-CFG-006'),
        ({"limits": {"quota": {"request.cpu": "4"}}}, 'limits.quota["request.cpu"] FT-CFG-006'),
        (
            {"limits": {"containers": {"limits": {"limits.cpu": "4"}}}},
            'limits.containers.limits["limits.cpu"] FT-CFG-006',
        ),
        ({"networkPolicy": "deny"}, "networkPolicy FT-CFG-606"),
    ],
)
def test_invalid_limits_are_refused(tmp_path, tenancy, problem):
    assert refusals(tmp_path, tenancy=tenancy) == [f"tenancy.{problem}"]


@pytest.mark.parametrize(
    ("limits", "said_of", "valid"),
    [
        ({"quota": {"request.cpu": "4"}}, "request.cpu", "requests.cpu, pods or count/jobs.batch"),
        ({"containers": {"limits": {"limits.cpu": "4"}}}, "limits.cpu", "cpu, memory or nvidia.com/gpu"),
    ],
)
def test_a_resource_that_cannot_be_limited_is_refused_with_some_that_can(tmp_path, limits, said_of, valid):
    [problem] = problems(tmp_path, tenancy={"limits": limits})

    remedy = f"{valid}; Flux's own kinds are limited by fluxObjects"
    assert problem.endswith(said("FT-CFG-006", "a resource that can be limited here", remedy).of(said_of))


# Source: standardQuotaResources in pkg/apis/core/helper/helpers.go of Kubernetes
@pytest.mark.parametrize(
    "name",
    [
        *("cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage"),
        *("requests.storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "hugepages-2Mi"),
        *("requests.hugepages-1Gi", "pods", "resourcequotas", "services", "replicationcontrollers", "secrets"),
        *("persistentvolumeclaims", "configmaps", "services.nodeports", "services.loadbalancers", "count/jobs.batch"),
        *("count/secrets", "requests.nvidia.com/gpu", "gold.storageclass.storage.k8s.io/requests.storage"),
        "count/widgets.example.com",
    ],
)
def test_every_resource_that_a_quota_of_kubernetes_can_limit_is_accepted(tmp_path, name):
    assert load(tmp_path, tenancy={"limits": {"quota": {name: "1"}}}).tenancy.limits.quota == {name: "1"}


@pytest.mark.parametrize(
    ("own", "refused"),
    [
        ({"maximumReleaseSize": 256, "minimumInterval": "10s", "maximumTimeout": "120m"}, []),
        ({"maximumReleaseSize": 1, "minimumInterval": "1h", "maximumTimeout": "1s"}, []),
        ({"blockingDisruptionBudgets": False}, []),
        ({"maximumTerminationGracePeriod": "6h", "maximumTokenLifetime": "48h"}, []),
        ({"maximumTerminationGracePeriod": "361m"}, ["maximumTerminationGracePeriod", "6h"]),
        ({"maximumTokenLifetime": "49h"}, ["maximumTokenLifetime", "48h"]),
        ({"maximumReleaseSize": 257}, ["maximumReleaseSize", "256"]),
        ({"maximumTimeout": "121m"}, ["maximumTimeout", "2h"]),
        ({"minimumInterval": "9s"}, ["minimumInterval", "10s"]),
        ({"blockingDisruptionBudgets": True}, ["blockingDisruptionBudgets", "false"]),
    ],
)
def test_the_stack_bounds_the_policies_of_its_tenants(tmp_path, own, refused):
    tenants = {
        "dev-team": {
            "policies": own,
            "sync": {"interval": "2h", "retryInterval": "2h", "timeout": "1s"},
            "source": SLOW,
        }
    }
    bounds = {"maximumReleaseSize": 256, "maximumTimeout": "2h", "minimumInterval": "10s"}
    bounds |= {"maximumTerminationGracePeriod": "6h", "maximumTokenLifetime": "48h"}
    policies = {"tenantBounds": bounds | {"blockingDisruptionBudgets": False}}
    if not refused:
        load(tmp_path, tenants=tenants, policies=policies)
        return

    key, bound = refused
    assert problems(tmp_path, tenants=tenants, policies=policies) == [
        f"Pulumi.staging.yaml: tenants.dev-team.policies.{key}: " + said("FT-TEN-324", bound)
    ]


def test_a_tenant_may_go_as_far_as_it_likes_without_bounds(tmp_path):
    bounds = {"maximumReleaseSize": 1024, "minimumInterval": "1s", "maximumTimeout": "9h"}
    load(tmp_path, tenants={"dev-team": {"policies": bounds | {"blockingDisruptionBudgets": True}}})


def test_syncs_of_a_tenant_are_checked_against_its_own_bounds(tmp_path):
    often, long = {"interval": "10s"}, {"timeout": "2h"}
    wider = {"minimumInterval": "10s", "maximumTimeout": "2h"}
    narrower = {"minimumInterval": "1h", "maximumTimeout": "1m"}
    load(tmp_path, tenants={"dev-team": {"policies": wider, "sync": often | long}})

    for own, keys in ((narrower, ("interval", "timeout")), ({}, ("interval", "timeout"))):
        found = problems(tmp_path, tenants={"dev-team": {"policies": own, "sync": often | long}})
        assert {each.split(":")[1].strip() for each in found} >= {f"tenants.dev-team.sync.{key}" for key in keys}


# One team's chart is stored in 140 KiB, more than others need.
def test_a_team_with_a_large_chart_has_a_bound_of_its_own_on_its_namespaces():
    config = tenant_config(policies={"maximumReleaseSize": 256, "blockingDisruptionBudgets": True})

    assert namespace_annotations(config, ()) == {
        "flux-tenancy/namespaces": "apps",
        "flux-tenancy/maximum-release-size": "256",
        "flux-tenancy/blocking-disruption-budgets": "true",
    }
    assert namespace_annotations(tenant_config(), ()) == {"flux-tenancy/namespaces": "apps"}


LARGE = {
    "namespaces": [{"name": "apps"}, {"name": "apps-jobs", "limits": {"quota": {"pods": "20"}}}],
    "limits": {
        "kustomizations": 9,
        "quota": {"requests.cpu": "20", "pods": "200"},
        "objects": {"secrets": None},
        "containers": {"minimum": {"cpu": "10m"}},
    },
}
STACK_LIMITS = {
    "quota": {"pods": "50", "requests.cpu": "5", "requests.memory": "5Gi"},
    "objects": {"secrets": 20, "services": 3},
    "containers": {"requests": {"cpu": "50m"}},
}


def hard(planned, name, namespace):
    [found] = [
        each.manifest["spec"]
        for each in planned
        if each.namespace == namespace and each.manifest["metadata"]["name"] == name
    ]
    return found


def test_a_tenant_and_a_namespace_change_limits_of_the_stack():
    config, tenancy = tenant_config(**LARGE), TenancyConfig.model_validate({"limits": STACK_LIMITS})
    planned = list(planned_limits(tenant_scope("dev-team", config, tenancy), ()))

    memory = {"requests.memory": "5Gi", "requests.cpu": "20"}
    assert hard(planned, "dev-team-quota", "apps")["hard"] == memory | {"pods": "200"}
    assert hard(planned, "dev-team-quota", "apps-jobs")["hard"] == memory | {"pods": "20"}
    assert hard(planned, "dev-team-flux-objects", "apps-jobs")["hard"][SYNCS] == "9"
    counted = hard(planned, "dev-team-objects", "apps")["hard"]
    assert counted["count/services"] == "3" and "count/secrets" not in counted
    [container] = hard(planned, "dev-team-containers", "apps-jobs")["limits"]
    assert container["defaultRequest"] == {"cpu": "50m", DISK: "64Mi"}
    assert container["min"] == {"cpu": "10m"}


def test_a_tenant_without_limits_has_those_of_the_stack():
    tenancy = TenancyConfig.model_validate({"limits": STACK_LIMITS})
    planned = list(planned_limits(tenant_scope("dev-team", tenant_config(), tenancy), ()))

    assert [each.manifest for each in planned] == limiting_objects(
        PLACE, tenancy.limits, tenancy.network_policy, {"count/configmaps": 1, "count/serviceaccounts": 1}
    )


@pytest.mark.parametrize(
    ("limits", "refused"),
    [
        ({"quota": {"pods": "200"}}, []),
        ({"quota": {"pods": "0.2k"}, "fluxObjects": 100, "objects": {"services": None}}, []),
        ({"quota": {"pods": "201"}}, [".quota.pods"]),
        ({"objects": {"secrets": None}}, [".objects.secrets"]),
        ({"fluxObjects": 101}, [".fluxObjects"]),
        ({"containers": {"maximum": {"memory": "1025Mi"}}}, [".containers.maximum.memory"]),
    ],
)
@pytest.mark.parametrize("of", ["tenant", "namespace"])
def test_the_stack_bounds_the_limits_of_its_tenants(tmp_path, limits, refused, of):
    highest = {"quota": {"pods": "200"}, "objects": {"secrets": 9}, "fluxObjects": 100}
    tenancy = {"maximumLimits": highest | {"containers": {"maximum": {"memory": "1Gi"}}}}
    if of == "tenant":
        tenant, path = {"limits": limits}, "tenants.dev-team.limits"
    else:
        tenant = {"namespaces": [{"name": "dev-team-apps", "limits": limits}]}
        path = "tenants.dev-team.namespaces[0].limits"
    if not refused:
        load(tmp_path, tenants={"dev-team": tenant}, tenancy=tenancy)
        return

    found = problems(tmp_path, tenants={"dev-team": tenant}, tenancy=tenancy)

    assert [each.partition(": is higher")[0] for each in found] == [f"Pulumi.staging.yaml: {path}{refused[0]}"]


@pytest.mark.parametrize(
    ("stack", "tenant", "namespace", "refused"),
    [
        ({"kustomizations": 101}, {}, {}, ("tenancy.limits.kustomizations", 100)),
        ({"fluxObjects": 4}, {}, {}, None),
        ({"fluxObjects": 4, "sources": 5}, {}, {}, ("tenancy.limits.sources", 4)),
        ({"kustomizations": 100}, {"fluxObjects": 4}, {}, None),
        ({"fluxObjects": 4}, {"helmReleases": 5}, {}, ("tenants.dev-team.limits.helmReleases", 4)),
        ({}, {"fluxObjects": 200}, {"kustomizations": 200}, None),
        (
            {},
            {"fluxObjects": 200},
            {"kustomizations": 201},
            ("tenants.dev-team.namespaces[0].limits.kustomizations", 200),
        ),
    ],
)
def test_a_number_that_the_one_of_all_of_fluxs_kinds_exceeds_is_refused_only_where_it_is_set(
    tmp_path, stack, tenant, namespace, refused
):
    """Defaults may be above a small number of all kinds."""
    tenants = {"dev-team": {"limits": tenant, "namespaces": [{"name": "apps", "limits": namespace}]}}
    if refused is None:
        load(tmp_path, tenants=tenants, tenancy={"limits": stack})
        return

    [found] = problems(tmp_path, tenants=tenants, tenancy={"limits": stack})

    path, smaller = refused
    assert found.startswith(f"Pulumi.staging.yaml: {path}: has no effect: it is above fluxObjects, which is {smaller}")


@pytest.mark.parametrize(("objects", "counted"), [({}, "52"), ({"networkpolicies.networking.k8s.io": 7}, "9")])
def test_network_policies_of_a_tenant_are_counted_beside_those_of_the_platform(objects, counted):
    tenancy = TenancyConfig.model_validate({"limits": {"objects": objects}})

    def hard(limits):
        found = limiting_objects(PLACE, limits, tenancy.network_policy, ROOM)
        return one(found, "ResourceQuota", "dev-team-objects")["spec"]["hard"]

    key = "count/networkpolicies.networking.k8s.io"
    assert hard(with_network_policies(tenancy.limits))[key] == counted
    assert (key in hard(tenancy.limits)) == bool(objects)
