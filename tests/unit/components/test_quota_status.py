"""Waiting until the cluster counts what a quota limits."""

import pytest

from components.quota_status import NotCounting, wait_until_counting

SOURCES, SYNCS = "count/gitrepositories.source.toolkit.fluxcd.io", "count/kustomizations.kustomize.toolkit.fluxcd.io"


def quota(*used):
    return {"status": {"used": dict.fromkeys(used, "0")}}


def test_it_asks_until_all_of_it_is_counted():
    answers = iter([{}, {"status": {}}, quota(SOURCES), quota(SOURCES, SYNCS)])

    wait_until_counting(lambda: next(answers), [SOURCES, SYNCS], sleep=lambda _: None)

    assert list(answers) == []


def test_what_is_not_counted_in_time_is_named_with_whom_to_look_at():
    now = iter(range(0, 1000, 50))

    with pytest.raises(NotCounting) as failed:
        wait_until_counting(lambda: quota(SOURCES), [SOURCES, SYNCS], clock=lambda: next(now), sleep=lambda _: None)

    assert str(failed.value) == (
        f"the cluster has not begun to count {SYNCS} within 120 s, and refuses such objects until it does; look "
        "whether its kube-controller-manager is well"
    )
