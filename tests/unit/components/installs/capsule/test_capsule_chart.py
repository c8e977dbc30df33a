"""Capsule's chart is used only if it is the one that was pinned; its definitions are the stack's own."""

import pytest
from sample_capsule import bundled_chart, capsule_config, chart_archive

from flux_tenancy.components.config.messages import code_of
from flux_tenancy.components.config.pinned_input import PinnedInputError
from flux_tenancy.components.installs.capsule import read_capsule


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """A cache of the user's that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def served(definition):
    return [version["name"] for version in definition["spec"]["versions"] if version["served"]]


def test_the_definitions_of_the_chart_serve_only_the_version_that_is_stored(tmp_path):
    config = bundled_chart(tmp_path, chart_archive())

    found = read_capsule(config, tmp_path)

    assert found.chart.path == f".charts/{config.sha256}.tgz"
    assert {each["metadata"]["name"]: served(each) for each in found.definitions} == {
        "tenants.capsule.clastix.io": ["v1beta2"],
        "tenantowners.capsule.clastix.io": ["v1beta2"],
    }


def test_the_published_chart_is_that_of_the_version_unless_another_address_is_given():
    assert capsule_config().address == "https://projectcapsule.github.io/charts/capsule-0.14.0.tgz"
    assert capsule_config(chart={"url": "https://a.example/c.tgz"}).address == "https://a.example/c.tgz"


@pytest.mark.parametrize(
    ("content", "key", "code"),
    [
        (chart_archive(appVersion="0.14.1"), "capsule.version", "FT-CAP-002"),
        (chart_archive(name="capsule-proxy"), "capsule.chart", "FT-CAP-001"),
    ],
)
def test_another_chart_or_that_of_another_capsule_is_refused(tmp_path, content, key, code):
    with pytest.raises(PinnedInputError) as error:
        read_capsule(bundled_chart(tmp_path, content), tmp_path)

    problem = error.value.as_problem("Pulumi.staging.yaml")
    assert (problem.path, code_of(problem.message)) == (key, code)
