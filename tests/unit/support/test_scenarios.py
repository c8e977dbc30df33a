"""Steps of a scenario come in order and bring each other along, whatever is selected or shuffled."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

CONFTEST = """
import pytest
from tests.support import order

def pytest_addoption(parser):
    parser.addoption("--shuffle", type=int)

@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    if (seed := config.getoption("--shuffle")) is not None:
        items[:] = order.shuffled(items, seed)
    yield
    items[:] = order.complete(items)

def pytest_runtest_setup(item):
    order.skip_after_failure(item)

def pytest_runtest_makereport(item, call):
    order.note_outcome(item, call)
"""
STEPS = """
import pytest

done = []

@pytest.mark.scenario
class TestSteps:
    def test_a(self):
        done.append("a")

    @pytest.mark.parametrize("number", [1, 2])
    def test_b(self, number):
        done.append(number)

    def test_c(self):
        assert done == ["a", 1, 2]

def test_alone():
    pass
"""
FAILING = """
import pytest

@pytest.mark.scenario
class TestSteps:
    def test_a(self):
        assert False

    def test_b(self):
        pass

def test_alone():
    pass
"""
TOGETHER = """
import pytest

@pytest.mark.parametrize("number", [pytest.param(n, marks=pytest.mark.together(str(n % 3))) for n in range(12)])
def test_number(number):
    pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers =\n    scenario\n    together(group)\n")
    return pytester


def names(result: pytest.RunResult) -> list[str]:
    """The tests in the order in which they ran."""
    return [line.split("::", 1)[1].split(" ")[0] for line in result.outlines if "::" in line and "%]" in line]


@pytest.mark.parametrize("seed", range(2))
def test_a_scenario_keeps_its_order_in_a_random_one(suite: pytest.Pytester, seed: int) -> None:
    suite.makepyfile(test_steps=STEPS)

    result = suite.runpytest_inprocess("-v", "--shuffle", str(seed))

    result.assert_outcomes(passed=5)


def test_a_selected_step_runs_with_its_earlier_steps(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_steps=STEPS)

    result = suite.runpytest_inprocess("-v", "test_steps.py::TestSteps::test_b[1]")

    assert names(result) == ["TestSteps::test_a", "TestSteps::test_b[1]"]


def test_only_steps_after_a_failed_step_are_skipped(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_failing=FAILING)

    result = suite.runpytest_inprocess("-v")

    result.assert_outcomes(passed=1, failed=1, skipped=1)


@pytest.mark.parametrize("seed", [1])
def test_a_random_order_keeps_groups_together_and_is_the_same_for_the_same_seed(
    suite: pytest.Pytester, seed: int
) -> None:
    suite.makepyfile(test_together=TOGETHER)

    first, second = (names(suite.runpytest_inprocess("-v", "--shuffle", str(seed))) for _ in range(2))

    assert first == second != [f"test_number[{number}]" for number in range(12)]
    groups = [int(name.removeprefix("test_number[").removesuffix("]")) % 3 for name in first]
    assert len([1 for one, next in zip(groups, groups[1:], strict=False) if one != next]) == 2
