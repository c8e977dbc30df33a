"""The objects of a tenant, as they stand in the cluster."""

import pytest
import yaml
from sample_release import HERE
from sample_stack import tenant_config

from components.tenant_objects import tenant_objects


def test_a_tenant_with_two_namespaces_has_exactly_these_objects():
    config = tenant_config(
        namespaces=[
            {"name": "apps", "labels": {"cost-centre": "4711"}, "annotations": {"contact": "dev-team@example.com"}},
            {"name": "apps-jobs", "podSecurity": "baseline"},
        ],
        source={"url": "https://git.example.com/dev-team/apps", "branch": "release", "interval": "2m"},
        sync={"path": "./staging", "targetNamespace": "apps"},
    )

    objects = tenant_objects("dev-team", config)

    golden = yaml.safe_load_all((HERE / "golden" / "tenant-dev-team.yaml").read_text())
    assert [*objects.namespaces, objects.identity, *objects.access, objects.source, objects.sync] == list(golden)


@pytest.mark.parametrize(
    ("reference", "followed"),
    [
        ({}, {"branch": "main"}),
        ({"branch": "release"}, {"branch": "release"}),
        ({"tag": "v1.2.3"}, {"tag": "v1.2.3"}),
        ({"semver": ">=1.2.0 <2.0.0"}, {"semver": ">=1.2.0 <2.0.0"}),
        ({"branch": "main", "commit": "ab" * 20}, {"branch": "main", "commit": "ab" * 20}),
        ({"commit": "ab" * 20}, {"commit": "ab" * 20}),
    ],
)
def test_the_source_follows_the_reference_that_is_given_and_main_without_one(reference, followed):
    config = tenant_config(source={"url": "https://git.example.com/dev-team/apps"} | reference)

    assert tenant_objects("dev-team", config).source["spec"]["ref"] == followed


@pytest.mark.parametrize("role", ["admin", "cluster-admin"])
def test_a_wider_role_is_bound_by_its_name_and_inside_the_namespaces_only(role):
    [binding] = tenant_objects("dev-team", tenant_config(role=role)).access

    assert binding["kind"] == "RoleBinding"
    assert binding["roleRef"]["name"] == role


def test_a_suspended_sync_says_so_and_another_says_nothing():
    suspended = tenant_objects("dev-team", tenant_config(sync={"suspend": True})).sync
    running = tenant_objects("dev-team", tenant_config()).sync

    assert suspended["spec"]["suspend"] is True
    assert "suspend" not in running["spec"]


def test_objects_of_the_repository_keep_their_namespaces_where_none_is_given():
    assert "targetNamespace" not in tenant_objects("dev-team", tenant_config()).sync["spec"]
