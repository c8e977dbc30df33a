"""Both environments of the platform, up: staging on today's Flux, production on the release before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project

DEV_TEAM = {"namespaces": [{"name": "apps"}], "sync": {"targetNamespace": "apps"}}
OPS_TEAM = {"namespaces": [{"name": "tools"}], "sync": {"targetNamespace": "tools"}}


class Environment:
    """One stack on its cluster; `config` is what the stack file says and may be changed before the next `up`."""

    def __init__(self, project: Project, cluster: RunningCluster, **config: Any) -> None:
        self.project = project
        self.cluster = cluster
        self.config = {"cluster": {"kubeconfig": str(cluster.kubeconfig), "context": cluster.name}, **config}
        self.write()

    def write(self) -> None:
        self.project.stack(self.cluster.name, **self.config)

    def up(self) -> str:
        """Apply what `config` says; returns what Pulumi printed."""
        self.write()
        outcome = self.project.up(self.cluster.name)
        assert outcome.succeeded, outcome.text
        return outcome.text

    def changes(self) -> dict[str, list[str]]:
        self.write()
        return self.project.changes(self.cluster.name)

    def outputs(self) -> dict[str, Any]:
        return self.project.outputs(self.cluster.name)


@pytest.fixture(scope="session")
def platform(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("platform") / "project", lab.pulumi)
    project.tenant("dev-team", DEV_TEAM | {"source": {"url": lab.git.url("dev-team", "apps"), "interval": "1m"}})
    project.tenant("ops-team", OPS_TEAM | {"source": {"url": lab.git.url("ops-team", "tools"), "interval": "1m"}})
    return project


@pytest.fixture(scope="session")
def staging_stack(lab: Lab, platform: Project, staging: RunningCluster) -> Environment:
    environment = Environment(
        platform, staging, flux=lab.bundle("2.9.5"), tenants={"dev-team": {"sync": {"path": "./staging"}}}
    )
    environment.up()
    return environment


@pytest.fixture(scope="session")
def production_stack(lab: Lab, platform: Project, production: RunningCluster) -> Environment:
    tenants = {"dev-team": {"sync": {"path": "./production"}}, "ops-team": {"sync": {"path": "./production"}}}
    environment = Environment(platform, production, flux=lab.bundle("2.9.4"), tenants=tenants)
    environment.up()
    return environment
