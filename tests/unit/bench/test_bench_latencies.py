"""Percentiles of each kind of request, and what they are of those without policies."""

from __future__ import annotations

import pytest
from sample_latencies import CREATE, DELETE, samples

from bench.latencies import latencies
from components.policies.config import PolicyEngine


def test_a_latency_has_the_median_and_what_one_of_a_hundred_takes_longer_than() -> None:
    found = next(each for each in latencies(samples(PolicyEngine.NONE)) if each.request == CREATE)

    assert found.requests == 101
    assert (found.p50, found.p99) == pytest.approx((50.0, 99.0))
    assert (found.p50_ratio, found.p99_ratio) == (1.0, 1.0)


def test_an_engine_is_held_against_the_same_request_without_policies() -> None:
    found = {each.engine: each for each in latencies(samples(*PolicyEngine)) if each.request == DELETE}

    assert {engine: (each.p50_ratio, each.p99_ratio) for engine, each in found.items()} == {
        PolicyEngine.NONE: (1.0, 1.0),
        PolicyEngine.NATIVE: (pytest.approx(2.0), pytest.approx(2.0)),
        PolicyEngine.KYVERNO: (pytest.approx(3.0), pytest.approx(3.0)),
        PolicyEngine.BOTH: (pytest.approx(4.0), pytest.approx(4.0)),
    }


def test_engines_come_in_their_order_below_each_request() -> None:
    found = latencies(samples(PolicyEngine.BOTH, PolicyEngine.NONE))

    assert [(each.request, each.engine) for each in found] == [
        (CREATE, PolicyEngine.NONE),
        (CREATE, PolicyEngine.BOTH),
        (DELETE, PolicyEngine.NONE),
        (DELETE, PolicyEngine.BOTH),
    ]
