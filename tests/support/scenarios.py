"""Scenarios: classes marked `scenario`, whose tests are steps that build on each other.

A selected step brings the steps before it along, in the order of the class, and is skipped when one of them failed. So
each step passes alone and in any order of the tests around it.
"""

from __future__ import annotations

import pytest

MARK = "scenario"
_FAILED_STEP = pytest.StashKey[str]()


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
