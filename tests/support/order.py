"""The order of the tests: the longest first, or random."""

from __future__ import annotations

import random

import pytest

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
    "tests/engine/test_lab_programs.py",
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
