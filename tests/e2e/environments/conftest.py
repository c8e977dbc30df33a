"""Both environments of the platform on the current Flux, with private repositories and a deploy key for each of them.

Staging also syncs the platform's own repository, with the secrets in it encrypted. It is brought up by the earlier
program.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flux_tenancy.components.keys import age_keys
from tests.support.earlier_program import EarlierProgram, Upgraded
from tests.support.environment import Environment, base
from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project


@pytest.fixture(scope="package")
def platform(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("platform") / "project", lab.pulumi)
    project.tenant("dev-team", base(lab, "dev-team/apps", "apps"))
    project.tenant("ops-team", base(lab, "ops-team/tools", "tools"))
    return project


@pytest.fixture(scope="package")
def staging(lab: Lab) -> Iterator[RunningCluster]:
    with lab.cluster("staging") as cluster:
        yield cluster


@pytest.fixture(scope="package")
def production(lab: Lab) -> Iterator[RunningCluster]:
    with lab.cluster("production") as cluster:
        yield cluster


@pytest.fixture(scope="package")
def upgraded_staging(lab: Lab, platform: Project, staging: RunningCluster, earlier_program: EarlierProgram) -> Upgraded:
    flux = lab.bundle() | {"webhookUrl": staging.webhook_url}
    environment = Environment(lab, platform, staging, flux=flux)
    environment.config["flux"]["sync"] = {"source": environment.private_source("platform", "fleet")}
    environment.onboard("dev-team", "./staging")
    dev_team = environment.config["tenants"]["dev-team"]
    dev_team["source"]["webhook"] = {}
    dev_team["sync"]["decryption"] = {"age": {"identities": environment.secret(age_keys.generate().private)}}
    return earlier_program.bring_up(environment)


@pytest.fixture(scope="package")
def staging_stack(upgraded_staging: Upgraded) -> Environment:
    return upgraded_staging.stack


@pytest.fixture(scope="package")
def production_stack(lab: Lab, platform: Project, production: RunningCluster) -> Environment:
    environment = Environment(lab, platform, production, flux=lab.bundle())
    for tenant in ("dev-team", "ops-team"):
        environment.onboard(tenant, "./production")
    # With an account by another name than the tenant's, too.
    environment.config["tenants"]["ops-team"]["serviceAccountName"] = "flux"
    environment.config["tenants"]["ops-team"]["policies"] = {"kinds": ["Receiver"]}
    environment.up()
    return environment
