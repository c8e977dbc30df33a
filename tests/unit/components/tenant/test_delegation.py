"""Namespaces that a tenant has delegated to a team of its own: whose account Flux uses, and who may write bindings."""

from __future__ import annotations

import pytest
from sample_plan import room_for, tenant_objects
from sample_stack import load, problems, tenant_config

from flux_tenancy.components.tenant.annotations import SERVICE_ACCOUNT
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.further_access import tenants_of
from flux_tenancy.components.tenant.identity import impersonations

NAMESPACES = [{"name": "apps"}, {"name": "checkout", "delegatedTo": "checkout-team"}]
CONFIG = tenant_config(namespaces=NAMESPACES)
OBJECTS = tenant_objects("dev-team", CONFIG, TenancyConfig())


def test_policies_expect_the_account_of_the_team_in_its_namespace_and_nowhere_else():
    accounts = [each["metadata"]["annotations"].get(SERVICE_ACCOUNT) for each in OBJECTS.namespaces]

    assert accounts == [None, "checkout-team"]


def test_flux_may_impersonate_only_the_account_of_the_team_in_its_namespace(tmp_path):
    config = load(tmp_path, tenants={"dev-team": {"namespaces": NAMESPACES}})

    found = impersonations(config.flux, config.tenants, config.tenancy)

    names = {namespace: role["rules"][0]["resourceNames"] for namespace, (role, *_) in found.items()}
    assert names == {"apps": ["dev-team", "default"], "checkout": ["checkout-team", "default"]}


def test_the_tenant_may_write_roles_and_bindings_only_in_a_delegated_namespace():
    [role], [binding] = OBJECTS.granted_roles, OBJECTS.access[2:]

    assert role["metadata"] == binding["metadata"]
    assert role["metadata"]["namespace"] == "checkout"
    [rule] = role["rules"]
    assert (rule["apiGroups"], rule["resources"]) == (["rbac.authorization.k8s.io"], ["rolebindings", "roles"])
    assert {"bind", "escalate", "*"}.isdisjoint(rule["verbs"])
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "dev-team", "namespace": "apps"}]
    assert (
        tenants_of(OBJECTS.access, {"apps": "dev-team", "checkout": "dev-team"})["dev-team"].bindings == OBJECTS.access
    )


def test_a_quota_has_room_for_the_role_and_binding_of_a_delegation():
    roles = "count/roles.rbac.authorization.k8s.io"

    assert [room_for(CONFIG, namespace).get(roles) for namespace in CONFIG.namespace_names] == [None, 1]


@pytest.mark.parametrize(
    ("policies", "lacking"),
    [
        ({"engine": "none"}, "platform-objects, tenant-access, tenant-service-account"),
        ({"mode": "audit"}, "platform-objects, tenant-access, tenant-service-account"),
        ({"modes": {"tenant-access": "audit"}}, "tenant-access"),
    ],
)
def test_a_delegation_without_the_policies_that_bound_it_is_an_error(tmp_path, policies, lacking):
    [problem] = problems(tmp_path, tenants={"dev-team": {"namespaces": NAMESPACES}}, policies=policies)

    key = "Pulumi.staging.yaml: tenants.dev-team.namespaces[1].delegatedTo"
    assert problem.startswith(f"{key}: needs the admission policies {lacking}, which are not enforced")


@pytest.mark.parametrize(
    ("namespaces", "message"),
    [
        ([{"name": "apps", "delegatedTo": "team"}], "delegatedTo: is the tenant's home"),
        ([{"name": "apps", "delegatedTo": "default"}], "delegatedTo: 'default' is reserved for pods"),
        ([{"name": "apps", "delegatedTo": "Team"}], "delegatedTo: 'Team' is not a DNS label"),
    ],
)
def test_a_namespace_that_cannot_be_delegated_is_an_error(tmp_path, namespaces, message):
    [problem] = problems(tmp_path, tenants={"dev-team": {"namespaces": namespaces}})

    assert problem.startswith(f"Pulumi.staging.yaml: tenants.dev-team.namespaces[0].{message}")
