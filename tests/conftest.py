"""One lab for all tests that need real parts; it is started with the first of them and removed after the last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project

FOLDERS = {"engine": pytest.mark.engine, "e2e": pytest.mark.e2e}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for folder, mark in FOLDERS.items():
            if folder in item.path.relative_to(Path(__file__).parent).parts:
                item.add_marker(mark)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    running = Lab(tmp_path_factory.mktemp("lab"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def staging(lab: Lab) -> RunningCluster:
    return lab.cluster("staging")


@pytest.fixture(scope="session")
def production(lab: Lab) -> RunningCluster:
    return lab.cluster("production")


@pytest.fixture(scope="module")
def project(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project of the module's own; its stacks are the module's to destroy."""
    return Project(tmp_path_factory.mktemp("project") / "platform", lab.pulumi)
