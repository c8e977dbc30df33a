"""One lab for all tests that need real parts; it is started with the first of them and removed after the last.

Of several processes each has a lab of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project

FOLDERS = {"engine": pytest.mark.engine, "e2e": pytest.mark.e2e}
KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/]{28}")
SHARED = ({"staging", "production"}, {"kyverno_stack"})
"""Fixtures for clusters that several modules use, one after the other."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for folder, mark in FOLDERS.items():
            if folder in item.path.relative_to(Path(__file__).parent).parts:
                item.add_marker(mark)
    for path, module in groupby(items, key=lambda item: item.path):
        members = list(module)
        group = _group(path, members)
        for item in members:
            item.add_marker(pytest.mark.xdist_group(group))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names tests alike in every process: keys, fingerprints and archives in parameters are made anew in each."""
    made = isinstance(val, bytes) or (isinstance(val, str) and KEY_MATERIAL.search(val))
    return argname if made else None


def _group(path: Path, members: list[pytest.Item]) -> str:
    """What has to be run by one process: a module, and with it those that use the same clusters."""
    used = {name for item in members for name in getattr(item, "fixturenames", ())}
    return next(("+".join(sorted(shared)) for shared in SHARED if shared & used), path.stem)


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
