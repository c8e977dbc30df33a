"""A Helm release of a tenant as Flux takes it."""

from types import SimpleNamespace

import pytest
from sample_plan import room_for, tenant_objects
from sample_stack import tenant_config

from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

CHARTS = {"kind": "HelmRepository", "url": "https://charts.example.com"}
ARTIFACT = {"kind": "OCIRepository", "url": "oci://registry.example.com/charts/podinfo"}
RETRY = {"crds": "Skip", "strategy": {"name": "RetryOnFailure", "retryInterval": "5m"}}


def objects(**keys):
    config = tenant_config(sources={"charts": CHARTS, "artifact": ARTIFACT}, releases={"podinfo": keys})
    found = tenant_objects("dev-team", config, TenancyConfig())
    [release] = found.releases
    return SimpleNamespace(release=release, secrets=found.secrets)


def spec(**release):
    return objects(**release).release["spec"]


def test_three_lines_are_a_release_as_flux_recommends_it():
    found = objects(source="charts", chart="podinfo", version="6.x")

    assert found.secrets == []
    assert found.release == {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "podinfo", "namespace": "apps", "labels": {TENANT_LABEL: "dev-team"}},
        "spec": {
            "serviceAccountName": "dev-team",
            "releaseName": "podinfo",
            "interval": "30m",
            "timeout": "5m",
            "chart": {
                "metadata": {"labels": {TENANT_LABEL: "dev-team"}},
                "spec": {
                    "chart": "podinfo",
                    "version": "6.x",
                    "interval": "5m",
                    "sourceRef": {"kind": "HelmRepository", "name": "charts"},
                },
            },
            "install": RETRY,
            "upgrade": RETRY,
        },
    }


def test_an_artifact_is_the_chart_itself():
    found = spec(source="artifact")

    assert found["chartRef"] == {"kind": "OCIRepository", "name": "artifact"}
    assert "chart" not in found


def test_without_a_source_the_chart_is_in_the_tenants_own_repository():
    chart = spec(chart="./chart", reconcileStrategy="Revision", valuesFiles=["./chart/values.yaml"])["chart"]["spec"]

    assert chart == {
        "chart": "./chart",
        "interval": "5m",
        "sourceRef": {"kind": "GitRepository", "name": "dev-team"},
        "reconcileStrategy": "Revision",
        "valuesFiles": ["./chart/values.yaml"],
    }


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ({"targetNamespace": "apps"}, {"targetNamespace": "apps"}),
        ({"values": {"replicas": 2}}, {"values": {"replicas": 2}}),
        ({"valuesFrom": [{"kind": "Secret", "name": "own"}]}, {"valuesFrom": [{"kind": "Secret", "name": "own"}]}),
        ({"releaseName": "web"}, {"releaseName": "web"}),
        ({"test": True}, {"test": {"enable": True}}),
        ({"suspend": True}, {"suspend": True}),
        ({"interval": "1h", "timeout": "2m"}, {"interval": "1h", "timeout": "2m"}),
        ({"driftDetection": {"mode": "warn"}}, {"driftDetection": {"mode": "warn"}}),
        (
            {"driftDetection": {"mode": "enabled", "ignore": [{"paths": ["/spec/replicas"]}]}},
            {"driftDetection": {"mode": "enabled", "ignore": [{"paths": ["/spec/replicas"]}]}},
        ),
        (
            {"images": [{"name": "app", "newTag": "2"}]},
            {"postRenderers": [{"kustomize": {"images": [{"name": "app", "newTag": "2"}]}}]},
        ),
        ({"commonMetadata": {"labels": {"team": "shop"}}}, {"commonMetadata": {"labels": {"team": "shop"}}}),
    ],
)
def test_what_is_configured_is_added_and_nothing_else(release, expected):
    assert spec(chart="./chart", **release) == spec(chart="./chart") | expected


@pytest.mark.parametrize(("retries", "expected"), [({}, 3), ({"retries": 0}, 0)])
def test_an_application_without_state_can_be_rolled_back(retries, expected):
    found = spec(chart="./chart", strategy="RemediateOnFailure", **retries)

    remediated = {
        "crds": "Skip",
        "strategy": {"name": "RemediateOnFailure"},
        "remediation": {"retries": expected},
    }
    assert found["install"] == found["upgrade"] == remediated


def test_secret_values_are_in_a_secret_that_overrides_other_values():
    own = {"kind": "ConfigMap", "name": "own"}
    found = objects(chart="./chart", valuesFrom=[own], secretValues={"redis.password": "pa55word,{", "api.key": "k3y"})

    [secret] = found.secrets
    assert secret["metadata"]["generateName"] == "dev-team.podinfo-values-"
    assert secret["immutable"] is True
    assert secret["data"] == {"value-0": "azN5", "value-1": "cGE1NXdvcmQsew=="}
    reference = {"kind": "Secret", "name": "dev-team.podinfo-values", "literal": True}
    assert found.release["spec"]["valuesFrom"] == [
        own,
        reference | {"valuesKey": "value-0", "targetPath": "api.key"},
        reference | {"valuesKey": "value-1", "targetPath": "redis.password"},
    ]
    assert "pa55word" not in str(found.release)


def test_there_is_room_for_the_secrets_of_releases():
    without, with_secret = (
        tenant_config(releases={"podinfo": {"chart": "./chart", "secretValues": values}})
        for values in ({}, {"api.key": "k3y"})
    )

    assert room_for(with_secret, "apps")["count/secrets"] == room_for(without, "apps")["count/secrets"] + 2


def test_releases_are_in_the_order_of_their_dependencies():
    releases = {"app": {"chart": "./app", "dependsOn": ["db"]}, "db": {"chart": "./db"}}

    planned = tenant_objects("dev-team", tenant_config(releases=releases), TenancyConfig()).planned
    [app] = (each for each in planned if each.key == "HelmRelease apps/app")

    assert app.needs == ("GitRepository apps/dev-team", "HelmRelease apps/db")
    assert app.manifest["spec"]["dependsOn"] == [{"name": "db"}]
