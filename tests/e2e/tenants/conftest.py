"""One stack that all modules of this folder share, and that one update brings up.

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

NAME = "tenants"


@pytest.fixture(scope="package")
def stack(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A platform with the native policies; a module's tests change only their own tenants."""
    project = Project(tmp_path_factory.mktemp(NAME) / "project", lab.pulumi)
    with lab.cluster(NAME) as cluster:
        flux = lab.bundle() | {"webhookUrl": cluster.webhook_url}
        environment = Environment(
            lab,
            project,
            cluster,
            flux=flux,
            policies={"engine": "native", "sources": {"allowed": sources(lab)}},
            tenancy={"networkPolicy": "default-deny"},
        )
        for module in sorted(Path(__file__).parent.glob("given_*.py")):
            importlib.import_module(f"tests.e2e.tenants.{module.stem}").add(environment, lab)
        environment.up()
        yield environment
