"""Waiting until the cluster counts what a quota limits."""

from typing import Any, cast

import pytest
from kubernetes.client import ApiClient
from message_codes import codes

from flux_tenancy.components.tenant import quotas
from flux_tenancy.components.tenant.quotas import NotCounting

API = cast(ApiClient, object())
SOURCES, SYNCS = "count/gitrepositories.source.toolkit.fluxcd.io", "count/kustomizations.kustomize.toolkit.fluxcd.io"


def quota(*used, hard="100"):
    counted = {"used": dict.fromkeys(used, "0"), "hard": dict.fromkeys(used, "100")}
    return {"spec": {"hard": dict.fromkeys((SOURCES, SYNCS), hard)}, "status": counted}


def test_the_quota_is_polled_until_all_of_it_is_counted(monkeypatch):
    raised = quota(SOURCES, SYNCS, hard="101")
    answers = iter([{}, {"status": {}}, quota(SOURCES), raised, quota(SOURCES, SYNCS)])
    asked = []

    def read(*which):
        asked.append(which)
        return next(answers)

    monkeypatch.setattr(quotas, "read_quota", read)

    monkeypatch.setattr(quotas, "POLL_SECONDS", 0)

    quotas.wait_until_counting(API, "apps", "dev-team-flux-objects", [SOURCES, SYNCS])

    assert asked == [(API, "apps", "dev-team-flux-objects")] * 5


def test_a_quota_that_does_not_exist_yet_refuses_nothing(monkeypatch):
    answers = iter([None])
    monkeypatch.setattr(quotas, "read_quota", lambda *_: next(answers))

    quotas.wait_until_counting(API, "apps", "dev-team-objects", [SYNCS])


def test_resources_that_are_not_counted_in_time_are_named(monkeypatch):
    monkeypatch.setattr(quotas, "read_quota", lambda *_: quota(SOURCES))
    monkeypatch.setattr(quotas, "TIMEOUT_SECONDS", 0)

    with pytest.raises(NotCounting) as failed:
        quotas.wait_until_counting(API, "apps", "dev-team-flux-objects", [SOURCES, SYNCS])

    assert codes([failed.value]) == ["FT-TEN-001"]
    assert SYNCS in str(failed.value) and "namespace apps" in str(failed.value)


@pytest.mark.parametrize(("age", "slept"), [(0.0, [45.0]), (30.0, [15.0]), (45.0, []), (86400.0, [])])
def test_a_kind_is_countable_some_time_after_its_definition_was_created(monkeypatch, age, slept):
    waited: list[Any] = []
    monkeypatch.setattr(quotas, "read_definition_age", lambda *_: age)
    monkeypatch.setattr("time.sleep", waited.append)

    quotas.wait_until_countable(API)

    assert waited == slept
