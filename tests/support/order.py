"""The order of the tests: the longest first, or random, and the steps of a scenario after each other.

A scenario is a class marked `scenario`, whose tests are steps that build on each other. A selected step brings the
steps before it along, in the order of the class, and is skipped when one of them failed. So each step passes alone and
in any order of the tests around it.
"""

from __future__ import annotations

import random

import pytest

MARK = "scenario"
_FAILED_STEP = pytest.StashKey[str]()
LONGEST = (
    "tests/e2e/test_killed_updates.py",
    "tests/e2e/environments/",
    "tests/e2e/test_guarded_platform.py",
    "tests/e2e/test_private_repositories.py",
    "tests/e2e/tenants/",
    "tests/e2e/test_admission.py",
    "tests/e2e/policies/",
    "tests/e2e/test_adopted_cluster.py",
    "tests/engine/test_previews_and_drift.py",
    "tests/e2e/test_kyverno.py",
    "tests/e2e/capsule/",
    "tests/e2e/test_monitoring.py",
    "tests/e2e/test_profile.py",
    "tests/engine/test_cluster_safety.py",
    "tests/engine/test_pulumi_cloud.py",
    "tests/e2e/test_isolation_suite.py",
    "tests/engine/test_pull_requests.py",
    "tests/engine/test_ways_of_running.py",
    "tests/engine/test_review_workflow.py",
)
"""They take minutes each: started late, one of them would run alone at the end. The order of others is irrelevant."""


def longest_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests with those of `LONGEST` before the others."""
    return sorted(
        items, key=lambda item: next((n for n, path in enumerate(LONGEST) if item.nodeid.startswith(path)), 99)
    )


def shuffled(items: list[pytest.Item], seed: int) -> list[pytest.Item]:
    """The tests in a random order: the modules, the groups marked `together` in each, and the tests in those.

    A module stays in one piece, since its tests share fixtures.

    Args:
        items: the tests.
        seed: the same seed gives the same order, in each of several processes too.
    """
    chance = random.Random(seed)
    order = {item: chance.random() for item in items}
    # Each module and each group comes where its first test is in the random order.
    places: dict[tuple[str, ...], float] = {}
    for item in items:
        for key in ((str(item.path),), (str(item.path), _group(item))):
            places[key] = min(places.get(key, 1.0), order[item])
    return sorted(
        items,
        key=lambda item: (places[(str(item.path),)], places[str(item.path), _group(item)], order[item]),
    )


def _group(item: pytest.Item) -> str:
    mark = item.get_closest_marker("together")
    return str(mark.args[0]) if mark else ""


def complete(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests to run: in the place of a scenario's first selected step stand all its steps up to the last one."""
    selected = {item.nodeid: item for item in items}
    seen: set[str] = set()
    complete: list[pytest.Item] = []
    for item in items:
        scenario = scenario_of(item)
        if scenario is None:
            complete.append(item)
        elif scenario.nodeid not in seen:
            seen.add(scenario.nodeid)
            own = _steps(scenario)
            last = max(index for index, step in enumerate(own) if step.nodeid in selected)
            complete += [selected.get(step.nodeid, step) for step in own[: last + 1]]
    return complete


def scenario_of(item: pytest.Item) -> pytest.Class | None:
    """The class of a test that is a step of a scenario."""
    return item.getparent(pytest.Class) if item.get_closest_marker(MARK) else None


def skip_after_failure(item: pytest.Item) -> None:
    """Skips a step that builds on one that failed."""
    scenario = scenario_of(item)
    if scenario and (failed := scenario.stash.get(_FAILED_STEP, "")):
        pytest.skip(f"the step {failed} failed")


def note_outcome(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Remembers the first step of a scenario that failed."""
    scenario = scenario_of(item)
    if scenario and call.excinfo and not call.excinfo.errisinstance(pytest.skip.Exception):
        scenario.stash.setdefault(_FAILED_STEP, item.name)


def _steps(scenario: pytest.Class) -> list[pytest.Item]:
    return [step for step in scenario.collect() if isinstance(step, pytest.Item)]
