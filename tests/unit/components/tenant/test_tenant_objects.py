"""The objects of a tenant, as they are applied to the cluster."""

import pytest
from sample_plan import tenant_objects
from sample_stack import tenant_config

from flux_tenancy.components.plan import Stage, of_stage
from flux_tenancy.components.tenant.config import TenancyConfig
from tests.support.goldens import assert_golden


@pytest.mark.golden
def test_a_tenant_with_two_namespaces_has_exactly_these_objects():
    config = tenant_config(
        namespaces=[
            {"name": "apps", "labels": {"cost-centre": "4711"}, "annotations": {"contact": "dev-team@example.com"}},
            {"name": "apps-jobs", "podSecurity": "baseline"},
        ],
        sync={"path": "./staging", "targetNamespace": "apps"},
    )

    objects = tenant_objects("dev-team", config, TenancyConfig())

    found = [*objects.namespaces, *objects.limits, objects.identity, *objects.access, *objects.syncs]
    assert_golden("tenant-dev-team.yaml", found)


@pytest.mark.parametrize("role", ["admin", "cluster-admin"])
def test_a_wider_role_is_bound_only_inside_the_tenants_namespaces(role):
    [binding] = tenant_objects("dev-team", tenant_config(role=role), TenancyConfig()).access

    assert binding["kind"] == "RoleBinding"
    assert binding["roleRef"]["name"] == role


def test_a_further_sync_is_applied_as_the_tenants_own_one_is():
    sync = {"decryption": {"workloadIdentity": {"provider": "vault"}}}
    config = tenant_config(sync=sync, syncs={"jobs": {"path": "./jobs", "dependsOn": ["dev-team"]}})

    objects = tenant_objects("dev-team", config, TenancyConfig())

    own, jobs = objects.syncs
    assert jobs["metadata"] == {"name": "jobs", "namespace": "apps", "labels": {"toolkit.fluxcd.io/tenant": "dev-team"}}
    changed = {"path": "./jobs", "dependsOn": [{"name": "dev-team"}]}
    assert jobs["spec"] == own["spec"] | changed


def test_syncs_are_in_the_order_of_their_dependencies():
    syncs = {"app": {"dependsOn": ["db"]}, "db": {}}
    config = tenant_config(sync={"dependsOn": ["app"]}, syncs=syncs)

    planned = of_stage(tenant_objects("dev-team", config, TenancyConfig()).planned, Stage.SYNCS)

    needs = {each.name: [key for key in each.needs if key.startswith("Kustomization ")] for each in planned}
    assert needs == {"db": [], "app": ["Kustomization apps/db"], "dev-team": ["Kustomization apps/app"]}
