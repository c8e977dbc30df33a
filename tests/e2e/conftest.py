"""Both environments of the platform, up: staging on today's Flux, production on the release before.

Their repositories are private: each environment has a deploy key of its own in each of them.
"""

from __future__ import annotations

from typing import Any

import pytest

from components.git.ssh_keys import generate
from components.tenant_objects import TENANT_LABEL
from tests.e2e.manifests import namespace
from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project
from tests.support.registry import Registry, Signer

OLDER = "older"
"""A namespace of the cluster of `kyverno_stack` that was labelled for a tenant before there were policies."""
TENANCY = {"limits": {"fluxObjects": 3}}
"""What that stack has for all tenants."""


def base(lab: Lab, repository: str, namespace: str, **source: Any) -> dict[str, Any]:
    """The base of a tenant whose private repository `owner/name` is read over SSH."""
    owner, name = repository.split("/")
    return {
        "namespaces": [{"name": namespace}],
        "source": {
            "url": lab.git.ssh_url(owner, name),
            "interval": "1m",
            "github": {"repository": repository},
            **source,
        },
        "sync": {"targetNamespace": namespace},
    }


class Environment:
    """One stack on its cluster; `config` is what the stack file says and may be changed before the next `up`."""

    def __init__(self, lab: Lab, project: Project, cluster: RunningCluster, **config: Any) -> None:
        self.project = project
        self.cluster = cluster
        self.config: dict[str, Any] = {
            "cluster": {"kubeconfig": str(cluster.kubeconfig), "context": cluster.name},
            "git": {"knownHostsFile": str(lab.git.known_hosts)},
            "github": {"baseUrl": lab.git.github_url, "owners": {"dev-team": {}, "ops-team": {}}},
            # What Flux and Kubernetes refuse by themselves; admission has tests of its own.
            "policies": {"engine": "none"},
            "tenants": {},
            **config,
        }
        self.write()

    def secret(self, text: str) -> dict[str, str]:
        """A text as the stack file may hold it."""
        return self.project.secret(self.cluster.name, text)

    def onboard(self, tenant: str, path: str) -> None:
        """List a tenant that reads its repository with a new deploy key."""
        key = self.secret(generate().private)
        self.config["tenants"][tenant] = {"source": {"deployKey": key}, "sync": {"path": path}}

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
    project.tenant("dev-team", base(lab, "dev-team/apps", "apps"))
    project.tenant("ops-team", base(lab, "ops-team/tools", "tools"))
    return project


@pytest.fixture(scope="session")
def staging_stack(lab: Lab, platform: Project, staging: RunningCluster) -> Environment:
    environment = Environment(lab, platform, staging, flux=lab.bundle("2.9.5"))
    environment.onboard("dev-team", "./staging")
    environment.up()
    return environment


@pytest.fixture(scope="session")
def production_stack(lab: Lab, platform: Project, production: RunningCluster) -> Environment:
    environment = Environment(lab, platform, production, flux=lab.bundle("2.9.4"))
    for tenant in ("dev-team", "ops-team"):
        environment.onboard(tenant, "./production")
    environment.up()
    return environment


@pytest.fixture(scope="session")
def registry(lab: Lab) -> Registry:
    return Registry(lab.git.gitea, "images")


@pytest.fixture(scope="session")
def signer(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer.new(lab.tools["cosign"], tmp_path_factory.mktemp("signer") / "key")


@pytest.fixture(scope="session")
def kyverno_stack(
    lab: Lab, registry: Registry, signer: Signer, tmp_path_factory: pytest.TempPathFactory
) -> Environment:
    """A stack without tenants on a cluster of its own: all policies of both engines, and what Kyverno alone can do."""
    cluster = lab.cluster("policies")
    cluster.apply(namespace(OLDER, {TENANT_LABEL: "older-team"}))
    signed = {"images": [f"{registry.prefix}/app"], "key": signer.public_key, "transparencyLog": False}
    environment = Environment(
        lab,
        Project(tmp_path_factory.mktemp("kyverno") / "project", lab.pulumi),
        cluster,
        flux=lab.bundle("2.9.5"),
        kyverno=lab.kyverno_chart("1.19.1") | {"replicas": 1},
        tenancy=TENANCY,
        policies={
            "engine": "both",
            "images": {"allowed": [f"{registry.prefix}/*", "registry.example.com/*"], "signatures": [signed]},
            "sources": {"plainHttp": True},
            "onboarding": True,
        },
    )
    environment.up()
    return environment
