"""The Helm releases of a tenant: what does not go together is found before anything is applied."""

import pytest
from sample_plan import tenant_objects
from sample_stack import Secret, load
from sample_stack import problems as problems_of

from flux_tenancy.components.config.errors import ConfigurationError
from tests.support.messages import said

WHERE = "Pulumi.staging.yaml: tenants.dev-team.releases"
CHARTS = {"kind": "HelmRepository", "url": "https://charts.example.com"}
ARTIFACT = {"kind": "OCIRepository", "url": "oci://registry.example.com/charts/podinfo"}
SOURCES = {"charts": CHARTS, "artifact": ARTIFACT}


def problems(project, releases, **sections):
    return problems_of(project, tenants={"dev-team": {"sources": SOURCES, "releases": releases}}, **sections)


def test_the_values_of_an_environment_are_merged_over_those_of_the_base(tmp_path):
    base = """
namespaces: [{name: apps}]
source: {url: https://git.example.com/dev-team/apps}
releases:
  podinfo: {chart: ./chart, values: {replicas: 1, ui: {color: blue, message: hello}}}
"""
    entry = {"releases": {"podinfo": {"values": {"replicas": 3, "ui": {"color": "red"}}}}}

    config = load(tmp_path, bases={"dev-team": base}, tenants={"dev-team": entry})

    values = config.tenants["dev-team"].releases["podinfo"].values
    assert values == {"replicas": 3, "ui": {"color": "red", "message": "hello"}}


def test_a_secret_value_is_hidden_from_whoever_prints_the_configuration(tmp_path):
    releases = {"podinfo": {"chart": "./chart", "secretValues": {"api.key": Secret("k3y")}}}

    config = load(tmp_path, tenants={"dev-team": {"releases": releases}})

    release = config.tenants["dev-team"].releases["podinfo"]
    assert release.secret_values["api.key"].get_secret_value() == "k3y"
    assert "k3y" not in repr(config)


def test_intervals_and_timeouts_of_releases_are_held_to_the_policies(tmp_path):
    found = problems(
        tmp_path,
        {"podinfo": {"chart": "a", "chartInterval": "10s", "retryInterval": "20s", "timeout": "1h"}},
        policies={"minimumInterval": "30s", "maximumTimeout": "10m"},
    )

    assert found == [
        f"{WHERE}.podinfo.chartInterval: "
        + said("FT-CFG-678", "shorter", "policies.minimumInterval", "30s", "more").of("10s"),
        f"{WHERE}.podinfo.retryInterval: "
        + said("FT-CFG-678", "shorter", "policies.minimumInterval", "30s", "more").of("20s"),
        f"{WHERE}.podinfo.timeout: " + said("FT-CFG-678", "longer", "policies.maximumTimeout", "10m", "less").of("1h"),
    ]


def test_charts_that_must_be_signed_come_from_artifacts_that_flux_verifies(tmp_path):
    releases = {"good": {"source": "artifact"}, "bad": {"source": "charts", "chart": "a"}}
    verified = ARTIFACT | {"verify": {"keyless": {"issuer": "https://issuer.example.com", "subject": "somebody"}}}
    tenant = {"sources": SOURCES | {"artifact": verified}, "releases": releases}
    policies = {"sources": {"verified": ["HelmChart", "OCIRepository"]}}

    found = problems_of(tmp_path, tenants={"dev-team": tenant}, policies=policies)

    assert found == [f"{WHERE}.bad.source: {said('FT-TEN-319', 'tenants.dev-team')}"]


RELEASES_ALONE = """
namespaces: [{name: apps}]
sources: {charts: {kind: HelmRepository, url: https://charts.example.com}}
releases: {podinfo: {source: charts, chart: podinfo}}
"""


def test_a_tenant_with_releases_alone_needs_neither_a_repository_nor_a_sync(tmp_path):
    # A sync of the default interval would be refused.
    policies = {"minimumInterval": "20m"}
    release = {"interval": "30m", "chartInterval": "30m", "retryInterval": "20m"}
    entry = {"sources": {"charts": {"interval": "20m"}}, "releases": {"podinfo": release}}

    config = load(tmp_path, bases={"dev-team": RELEASES_ALONE}, tenants={"dev-team": entry}, policies=policies)

    objects = tenant_objects("dev-team", config.tenants["dev-team"], config.tenancy)
    assert [each["kind"] for each in objects.applied] == ["HelmRelease"]


@pytest.mark.parametrize(
    ("entry", "path", "code"),
    [
        ({"sync": {"path": "./app"}}, "tenants.dev-team.sync.source", "FT-SRC-040"),
        ({"syncs": {"jobs": {"path": "./jobs"}}}, "sync.source", "FT-SRC-040"),
        ({"releases": {"podinfo": {"source": None}}}, "tenants.dev-team.releases.podinfo.source", "FT-SRC-040"),
    ],
)
def test_what_a_tenant_with_releases_alone_lacks_is_an_error(tmp_path, entry, path, code):
    with pytest.raises(ConfigurationError) as raised:
        load(tmp_path, bases={"dev-team": RELEASES_ALONE}, tenants={"dev-team": entry})

    [problem] = raised.value.problems
    assert problem.path == path and problem.code.startswith(code)
