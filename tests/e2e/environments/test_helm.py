"""A tenant runs charts from its Git repository and both kinds of HelmRepository, with versions per environment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from tests.support.charts import Chart, Overlays
from tests.support.environment import Environment
from tests.support.lab import Lab, eventually
from tests.support.registry import Registry

NAMES = ("greeter", "menu")
RANGES = {"staging": ">=1.0.0-alpha", "production": ">=1.0.0"}
EXPECTED = {"staging": "1.1.0-rc.1", "production": "1.0.0"}


@pytest.fixture
def environments(
    lab: Lab, staging_stack: Environment, production_stack: Environment
) -> Iterator[dict[str, Environment]]:
    """Both of them, whose tenant has charts in its repository for as long as the test lasts."""
    both = {"staging": staging_stack, "production": production_stack}
    registry = Registry(lab.git.gitea, "charts")
    for name in NAMES:
        for version in EXPECTED.values():
            registry.push_chart(Chart(name, version, "registry.example/charts/app:1"))
    sources: dict[str, dict[str, object]] = {
        "greeter": {"url": registry.chart_registry, "type": "oci", "insecure": True},
        "menu": {"url": registry.chart_index},
    }
    overlays = Overlays(lab.settings.project / "dev/lab/sample/dev-team/apps", "dev-team", sources, RANGES)

    def push(files: dict[str, str | None], message: str) -> None:
        lab.git.commit_files("dev-team", "apps", files, message)
        for environment in both.values():
            environment.cluster.reconcile("gitrepository", "dev-team", "apps")

    push(overlays.files, "Run charts")
    yield both
    push(overlays.undone, "Run no charts")
    for environment in both.values():
        eventually(partial(gone, environment))


def gone(environment: Environment) -> bool:
    return not environment.cluster.get("helmreleases", namespace="apps")["items"]


def deployed(environment: Environment) -> dict[str, tuple[str, str]]:
    """Chart and message of the tenant's releases that are ready."""
    return {
        name: (found["metadata"]["labels"]["chart"], found["metadata"]["annotations"]["message"])
        for name in NAMES
        if environment.cluster.ready("helmrelease", name, "apps")[0] == "True"
        and (found := environment.cluster.find("deployment", name, "apps"))
    }


def all_deployed(environment: Environment) -> bool:
    return deployed(environment).keys() == set(NAMES)


def test_a_tenants_charts_run_in_each_environments_version(environments: dict[str, Environment]) -> None:
    for overlay, environment in environments.items():
        expected = {name: (f"{name}-{EXPECTED[overlay]}", overlay) for name in NAMES}

        eventually(partial(all_deployed, environment), what=f"releases in {overlay}")

        assert deployed(environment) == expected
