"""The order of the tests, and a lab for those that need real parts: one a process, started with the first of them."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.support import order, properties
from tests.support.earlier_program import EarlierProgram
from tests.support.lab import Lab
from tests.support.project import Project

FOLDERS = {"engine": pytest.mark.engine, "e2e": pytest.mark.e2e}
KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/]{28}")
SHARING = (PurePosixPath("tests/engine"), PurePosixPath("tests/e2e"))
ALL, SHUFFLE = "--all", "--shuffle"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(ALL, action="store_true", help="run what `make test-all` runs, the exhaustive tests too")
    parser.addoption(SHUFFLE, type=int, metavar="SEED", help="run the tests in an order by chance")


def pytest_configure(config: pytest.Config) -> None:
    properties.set_up(config, many=config.getoption(ALL))


class LabScheduling(LoadScopeScheduling):
    """A module to a process, and the modules of a folder below `SHARING` together: they share clusters."""

    def _split_scope(self, nodeid: str) -> str:
        module = PurePosixPath(nodeid.partition("::")[0])
        shares = any(folder in module.parent.parents for folder in SHARING)
        return str(module.parent if shares else module)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LabScheduling:
    return LabScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    for item in items:
        for folder, mark in FOLDERS.items():
            if folder in item.path.relative_to(Path(__file__).parent).parts:
                item.add_marker(mark)
    seed = config.getoption(SHUFFLE)
    items[:] = order.longest_first(items) if seed is None else order.shuffled(items, seed)
    # Whatever else orders and selects tests comes before scenarios are put in order.
    yield
    if not config.getoption(ALL):
        left_out = [item for item in items if item.get_closest_marker("exhaustive")]
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=left_out)
    items[:] = order.complete(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    order.skip_after_failure(item)


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    order.note_outcome(item, call)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names tests alike in every process: keys, fingerprints and archives in parameters are made anew in each."""
    made = isinstance(val, bytes) or (isinstance(val, str) and KEY_MATERIAL.search(val))
    return argname if made else None


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell starts what it runs in the background with interrupts ignored, and Python leaves that as it is."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Lab]:
    running = Lab(tmp_path_factory.mktemp("lab"), "test-all" if pytestconfig.getoption(ALL) else "test")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def project(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project of the module's own; its stacks go with the clusters that they are applied to."""
    return Project(tmp_path_factory.mktemp("project") / "platform", lab.pulumi)


@pytest.fixture(scope="session")
def earlier_program(tmp_path_factory: pytest.TempPathFactory) -> EarlierProgram:
    return EarlierProgram(tmp_path_factory.mktemp("earlier") / "checkout")
