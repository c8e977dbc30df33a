"""What a tenant alone may do in addition: roles, bindings, annotations, and room in its quotas."""

from __future__ import annotations

from typing import Any

import pytest
from sample_plan import room_for, tenant_objects
from sample_stack import load, problems, tenant_config

from flux_tenancy.components.tenant.annotations import EXCEPTIONS, SERVICE_TYPES, namespace_annotations
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.further_access import tenants_of
from flux_tenancy.components.tenant.grants import in_words, relaxed_policies
from flux_tenancy.components.tenant.role import _KUBERNETES, _WITHHELD, owner_of, why_withheld

RULE = {"apiGroups": ["cert-manager.io"], "resources": ["certificates"], "verbs": ["create", "get"]}
ISSUER = {"apiGroup": "cert-manager.io", "resource": "clusterissuers", "name": "letsencrypt", "verbs": ["get"]}
TYPES = ["LoadBalancer"]
EXCEPTION = {"policy": "allowed-images", "names": ["legacy"]}
REASON = {"reason": "TICKET-12"}


def objects(*grants: dict[str, Any]) -> Any:
    config = tenant_config(namespaces=[{"name": "apps"}, {"name": "jobs"}], grants=[REASON | each for each in grants])
    return tenant_objects("dev-team", config, TenancyConfig())


def test_granted_rules_are_bound_to_the_account_in_each_namespace_and_nowhere_else():
    found = objects({"rules": [RULE]}, {"rules": [RULE | {"resources": ["issuers"]}]})

    roles = [(role["kind"], role["metadata"]["namespace"], role["metadata"]["name"]) for role in found.granted_roles]
    assert roles == [("Role", "apps", "dev-team-grants"), ("Role", "jobs", "dev-team-grants")]
    assert found.granted_roles[0]["rules"] == [RULE, RULE | {"resources": ["issuers"]}]
    of_role, of_grants = found.access[:2], found.access[2:]
    assert [each["roleRef"]["kind"] for each in of_role] == ["ClusterRole", "ClusterRole"]
    assert [(each["kind"], each["metadata"], each["roleRef"]["kind"]) for each in of_grants] == [
        ("RoleBinding", role["metadata"], "Role") for role in found.granted_roles
    ]
    assert all(each["subjects"] == of_role[0]["subjects"] for each in of_grants)


def test_a_granted_cluster_object_is_limited_to_its_name():
    found = objects({"clusterObjects": [ISSUER]})

    [role], binding = found.granted_roles, found.access[-1]
    assert role["kind"] == "ClusterRole"
    assert role["rules"] == [
        {
            "apiGroups": ["cert-manager.io"],
            "resources": ["clusterissuers"],
            "verbs": ["get"],
            "resourceNames": ["letsencrypt"],
        }
    ]
    assert (binding["kind"], binding["roleRef"]["name"]) == ("ClusterRoleBinding", role["metadata"]["name"])
    assert "namespace" not in binding["metadata"]


def test_a_grant_is_the_tenants_alone_and_does_not_hold_where_it_may_pass_rights_to_a_team():
    namespaces = [{"name": "apps"}, {"name": "checkout", "delegatedTo": "checkout-team"}]
    given = {"rules": [RULE], "serviceTypes": TYPES, "exceptions": [EXCEPTION]}
    config = tenant_config(namespaces=namespaces, grants=[REASON | given])

    found = tenant_objects("dev-team", config, TenancyConfig())

    granted = [each for each in (*found.granted_roles, *found.access) if each["metadata"]["name"] == "dev-team-grants"]
    assert [each["metadata"]["namespace"] for each in granted] == ["apps", "apps"]
    home, delegated = (set(each["metadata"]["annotations"]) for each in found.namespaces)
    assert {SERVICE_TYPES, EXCEPTIONS} <= home
    assert {SERVICE_TYPES, EXCEPTIONS}.isdisjoint(delegated)
    roles = "count/roles.rbac.authorization.k8s.io"
    assert [room_for(config, each)[roles] for each in ("apps", "checkout")] == [1, 1]


def test_policies_read_the_rest_from_annotations_of_the_namespaces():
    grants = [
        REASON | {"serviceTypes": TYPES, "exceptions": [EXCEPTION, {"policy": "disruption-budgets"}]},
        REASON | {"serviceTypes": TYPES},
    ]
    config = tenant_config(grants=grants)

    annotations = namespace_annotations(config, config.grants)

    assert annotations[SERVICE_TYPES] == "LoadBalancer"
    assert annotations[EXCEPTIONS] == "allowed-images/legacy disruption-budgets"
    assert relaxed_policies(config.grants) == {"allowed-images", "disruption-budgets", "service-exposure"}


def test_a_tenant_without_grants_has_no_trace_of_them():
    found = objects()

    assert found.granted_roles == []
    assert len(found.access) == 2
    assert {SERVICE_TYPES, EXCEPTIONS}.isdisjoint(namespace_annotations(tenant_config(), ()))


def test_the_platforms_own_bindings_of_grants_are_no_further_access():
    found = objects({"rules": [RULE]}, {"clusterObjects": [ISSUER]})
    forged = found.access[-1] | {"metadata": {"name": "flux-tenancy-grants-other", "labels": {}}}

    tenants = tenants_of([*found.access, forged], {"apps": "dev-team", "jobs": "dev-team"})

    assert tenants["dev-team"].bindings == found.access


def test_a_quota_has_room_for_the_role_and_binding_of_grants():
    roles = "count/roles.rbac.authorization.k8s.io"

    assert roles not in room_for(tenant_config(), "apps")
    assert room_for(tenant_config(grants=[REASON | {"rules": [RULE]}]), "apps")[roles] == 1


def test_a_grant_in_words_names_everything_that_it_allows():
    grant = {"rules": [RULE], "clusterObjects": [ISSUER], "serviceTypes": TYPES, "exceptions": [EXCEPTION]}
    [read] = tenant_config(grants=[REASON | grant]).grants

    assert list(in_words(read)) == [
        "create, get certificates.cert-manager.io in its namespaces",
        "get clusterissuers.cert-manager.io letsencrypt",
        "Services of the type LoadBalancer",
        "an exception from the policy allowed-images for legacy",
    ]


@pytest.mark.parametrize(
    ("resource", "why"),
    [
        ("endpointslices.discovery.k8s.io", "Kubernetes, and EndpointSlices can send"),
        ("resourceclaims.resource.k8s.io", "Kubernetes, and its claims take devices of nodes"),
        ("workloads.scheduling.k8s.io", "Kubernetes, and its objects decide which Pods"),
        ("ciliumnetworkpolicies.cilium.io", "the cluster's network, and its objects decide who may connect"),
        ("policies.kyverno.io", "Kyverno, and its objects decide which requests"),
        ("kustomizations.kustomize.toolkit.fluxcd.io", "Flux, and its kinds can only be opened, by their names"),
    ],
)
def test_a_kind_or_group_that_no_tenant_can_have_is_refused_with_the_reason(tmp_path, resource, why):
    [opened] = problems(tmp_path, tenancy={"kinds": [resource]})
    group = resource.partition(".")[2]
    [granted] = problems(tmp_path, tenancy={"grantableGroups": [group]})

    assert opened.startswith("Pulumi.staging.yaml: tenancy.kinds[0]: ")
    assert f"it belongs to {why}" in opened
    assert why.partition(", and ")[2] in granted and granted.startswith(
        "Pulumi.staging.yaml: tenancy.grantableGroups[0]"
    )


@pytest.mark.parametrize("group", ["gateway.networking.k8s.io", "snapshot.storage.k8s.io", "autoscaling.k8s.io"])
def test_a_group_of_kubernetes_for_which_others_have_controllers_can_be_opened_and_granted(tmp_path, group):
    tenancy = {"kinds": [f"things.{group}"], "grantableGroups": [group]}

    assert load(tmp_path, tenancy=tenancy).tenancy.grantable_groups == (group,)


ENDS = [end for row in _WITHHELD["others"] for end in row["groups"]]


@pytest.mark.parametrize("group", [*_KUBERNETES, "", "apps", *(f"a.{end}" for end in ENDS)])
def test_every_group_that_cannot_be_granted_has_a_reason(group):
    assert owner_of(group) and why_withheld(group)


def test_a_name_that_is_no_kind_is_refused_without_a_reason(tmp_path):
    [problem] = problems(tmp_path, tenancy={"kinds": ["Thing"]})

    assert "'Thing' is not a kind that can be opened to tenants; use one of" in problem
