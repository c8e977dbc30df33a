"""The objects of a tenant, as they are applied to the cluster."""

import pytest
import yaml
from sample_release import HERE
from sample_stack import tenant_config

from components.cluster.object_meta import ObjectMeta
from components.tenant.config import TenancyConfig
from components.tenant.objects import source_meta, tenant_objects


def test_a_tenant_with_two_namespaces_has_exactly_these_objects():
    config = tenant_config(
        namespaces=[
            {"name": "apps", "labels": {"cost-centre": "4711"}, "annotations": {"contact": "dev-team@example.com"}},
            {"name": "apps-jobs", "podSecurity": "baseline"},
        ],
        sync={"path": "./staging", "targetNamespace": "apps"},
    )

    objects = tenant_objects("dev-team", config, TenancyConfig())

    golden = yaml.safe_load_all((HERE / "golden" / "tenant-dev-team.yaml").read_text())
    assert [*objects.namespaces, *objects.limits, objects.identity, *objects.access, objects.sync] == list(golden)


@pytest.mark.parametrize("role", ["admin", "cluster-admin"])
def test_a_wider_role_is_bound_only_inside_the_tenants_namespaces(role):
    [binding] = tenant_objects("dev-team", tenant_config(role=role), TenancyConfig()).access

    assert binding["kind"] == "RoleBinding"
    assert binding["roleRef"]["name"] == role


def test_only_a_suspended_sync_sets_suspend():
    suspended = tenant_objects("dev-team", tenant_config(sync={"suspend": True}), TenancyConfig()).sync
    running = tenant_objects("dev-team", tenant_config(), TenancyConfig()).sync

    assert suspended["spec"]["suspend"] is True
    assert "suspend" not in running["spec"]


def test_without_a_target_namespace_objects_keep_their_own():
    assert "targetNamespace" not in tenant_objects("dev-team", tenant_config(), TenancyConfig()).sync["spec"]


def test_the_source_is_in_the_tenants_home_namespace_with_its_name_and_label():
    config = tenant_config(namespaces=[{"name": "apps"}, {"name": "apps-jobs"}])

    assert source_meta("dev-team", config) == ObjectMeta(
        name="dev-team", namespace="apps", labels={"toolkit.fluxcd.io/tenant": "dev-team"}
    )
