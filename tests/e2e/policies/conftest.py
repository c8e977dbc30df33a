"""A stack without tenants, with both engines and everything that only Kyverno offers.

It is brought up by the earlier program.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from tests.e2e.manifests import namespace
from tests.e2e.policies.given import OLDER, TENANCY
from tests.support.earlier_program import EarlierProgram, Upgraded
from tests.support.environment import Environment, sources
from tests.support.lab import Lab
from tests.support.project import Project
from tests.support.registry import Registry, Signer


@pytest.fixture(scope="package")
def registry(lab: Lab) -> Registry:
    return Registry(lab.git.gitea, "images")


@pytest.fixture(scope="package")
def signer(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer.new(lab.tools["cosign"], tmp_path_factory.mktemp("signer") / "key")


@pytest.fixture(scope="package")
def upgraded_stack(
    lab: Lab,
    registry: Registry,
    signer: Signer,
    tmp_path_factory: pytest.TempPathFactory,
    earlier_program: EarlierProgram,
) -> Iterator[Upgraded]:
    signed = {"images": [f"{registry.prefix}/app"], "key": signer.public_key, "transparencyLog": False}
    with lab.cluster("policies") as cluster:
        cluster.apply(namespace(OLDER, {TENANT_LABEL: "older-team"}))
        environment = Environment(
            lab,
            Project(tmp_path_factory.mktemp("kyverno") / "project", lab.pulumi),
            cluster,
            flux=lab.bundle(),
            kyverno=lab.kyverno_chart("1.19.1") | {"replicas": 1},
            tenancy=TENANCY,
            policies={
                "engine": "both",
                "images": {"allowed": [f"{registry.prefix}/*", "registry.example.com/*"], "signatures": [signed]},
                "sources": {"allowed": [*sources(lab), "https://git.example.com/*"], "plainHttp": True},
                "onboarding": True,
            },
        )
        yield earlier_program.bring_up(environment)


@pytest.fixture(scope="package")
def kyverno_stack(upgraded_stack: Upgraded) -> Environment:
    return upgraded_stack.stack
