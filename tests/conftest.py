"""A lab for all tests that need real parts; it is started with the first of them and removed after the last.

Of two processes each has one: a lab mostly waits for its clusters, and lets the other have the processors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project

FOLDERS = {"engine": pytest.mark.engine, "e2e": pytest.mark.e2e}
KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/]{28}")
# The modules of each lab, by how their paths begin; the first that fits counts.
LABS = {
    # Clusters of their own.
    "clusters": (
        "tests/e2e/test_admission.py",
        "tests/e2e/test_guarded_platform.py",
        "tests/e2e/test_image_signatures.py",
        "tests/e2e/test_kyverno.py",
        "tests/e2e/test_onboarding_by_label.py",
        "tests/engine/test_cluster_safety.py",
        "tests/engine/test_lab.py",
    ),
    # Staging and production, which go from test to test; the last module removes them.
    "environments": ("tests/e2e/",),
}


class LabScheduling(LoadScopeScheduling):
    """All modules of a lab in one process; the others wherever nothing is left to do."""

    def _split_scope(self, nodeid: str) -> str:
        fitting = (lab for lab, paths in LABS.items() if nodeid.startswith(paths))
        return next(fitting, nodeid.partition("::")[0])


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LabScheduling:
    return LabScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for folder, mark in FOLDERS.items():
            if folder in item.path.relative_to(Path(__file__).parent).parts:
                item.add_marker(mark)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names tests alike in every process: keys, fingerprints and archives in parameters are made anew in each."""
    made = isinstance(val, bytes) or (isinstance(val, str) and KEY_MATERIAL.search(val))
    return argname if made else None


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
