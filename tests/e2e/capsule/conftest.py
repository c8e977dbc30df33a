"""One stack with Capsule that all modules of this folder share, and that one update brings up.

Each module `given_<feature>.py` adds what its tests need: `add(stack, lab)` changes the configuration of the stack,
writes the base files of tenants and fills repositories.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.environment import Environment, sources
from tests.support.lab import Lab
from tests.support.project import Project

NAME = "capsule"
ADMINISTRATORS = [{"kind": "User", "name": "lab:admin"}]


@pytest.fixture(scope="package")
def stack(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A platform with Capsule, and the policies of both engines."""
    project = Project(tmp_path_factory.mktemp(NAME) / "project", lab.pulumi)
    with lab.cluster(NAME) as cluster:
        environment = Environment(
            lab,
            project,
            cluster,
            flux=lab.bundle(),
            kyverno=lab.kyverno_chart("1.19.1") | {"replicas": 1},
            capsule=lab.capsule_chart("0.14.0") | {"administrators": ADMINISTRATORS},
            policies={"engine": "both", "sources": {"allowed": sources(lab)}},
            tenancy={"mode": "capsule", "networkPolicy": "default-deny", "offboardingTimeout": "20s"},
        )
        for module in sorted(Path(__file__).parent.glob("given_*.py")):
            importlib.import_module(f"tests.e2e.capsule.{module.stem}").add(environment, lab)
        environment.up()
        yield environment
