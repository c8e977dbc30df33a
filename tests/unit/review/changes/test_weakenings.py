"""Rows of the table that the cases of `cases/` do not reach, and that the same is said once."""

from __future__ import annotations

import pytest
from sample_objects import kubernetes

from flux_tenancy.review.changes.weakenings import weakenings


def said(before, after):
    return [each.text for each in weakenings(before, after)]


def quota(name, **hard):
    return kubernetes("ResourceQuota", name, "apps", spec={"hard": hard})


def controller(*arguments):
    containers = [{"name": "manager", "args": [*arguments]}]
    return kubernetes("Deployment", "a", "apps", spec={"template": {"spec": {"containers": containers}}})


@pytest.mark.parametrize(
    ("before", "after"), [("4", "16"), ("1", "4k"), ("500m", "2"), ("1Gi", "4096Mi"), ("1", "1e3")]
)
def test_a_quota_that_is_multiplied_is_a_risk(before, after):
    assert said([quota("a", cpu=before)], [quota("a", cpu=after)]) == [f"may have {after} of cpu (before: {before})"]


@pytest.mark.parametrize(("before", "after"), [("4", "15"), ("16", "4"), ("1Gi", "2048Mi")])
def test_a_quota_that_is_adjusted_is_none(before, after):
    assert said([quota("a", cpu=before)], [quota("a", cpu=after)]) == []


def test_the_same_of_several_keys_and_objects_is_one_sentence():
    before = [quota(name, cpu="1", pods="1") for name in "ab"]
    after = [quota(name, cpu="9", pods="9") for name in "ab"]

    assert said(before, after) == ["may have 9 of cpu and pods (before: 1)"]


def test_a_limit_that_moves_to_another_quota_is_not_lost():
    before = [quota("a", **{"count/secrets": "1000", "count/services": "200"})]

    assert said(before, [quota("a", **{"count/services": "200"}), quota("b", secrets="10")]) == []


def test_the_lower_of_two_limits_counts():
    before = [quota("a", pods="1"), quota("b", pods="100")]

    assert said(before, [quota("a", pods="1"), quota("b", pods="10k")]) == []
    assert said(before, [quota("b", pods="100")]) == ["may have 100 of pods (before: 1)"]


def test_a_namespace_without_its_quotas_loses_their_limits():
    namespace = kubernetes("Namespace", "apps")

    assert said([namespace, quota("a", cpu="1", pods="1")], [namespace]) == [
        "loses the limit of cpu and pods in the quotas of namespace apps"
    ]
    assert said([namespace, quota("a", cpu="1")], []) == []


@pytest.mark.parametrize(
    ("before", "after", "is_risk"),
    [("4", "400", True), ("4", "16", True), ("4", "5", False), ("400", "300", False), ("4", "many", True)],
)
def test_many_workers_are_a_risk(before, after, is_risk):
    found = said([controller(f"--concurrent={before}")], [controller(f"--concurrent={after}")])

    assert found == ([f"runs {after} workers (--concurrent) in Deployment apps/a"] if is_risk else [])


def test_an_object_that_comes_is_compared_with_nothing():
    labels = {"istio-injection": "enabled", "team": "a"}

    assert said([], [quota("a", cpu="1000")]) == []
    assert said([], [kubernetes("Namespace", "a", metadata={"labels": labels})]) == [
        "has istio-injection: enabled on Namespace a (before: none), which other controllers may read"
    ]
