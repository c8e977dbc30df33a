"""Each figure of a contest is compared with its own baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dev.bench import admission, backends, fleet, kubectl, lanes, neighbours, review
from dev.bench.kubectl import Measured
from dev.bench.measure import Sample
from dev.bench.report import Results
from flux_tenancy.components.policies.config import PolicyEngine

NONE, NATIVE, KYVERNO, BOTH = admission.ENGINES
CREATE, DELETE = "create Kustomization", "delete ConfigMap, no policy"


def measured(tenants: int) -> Measured:
    """Three samples of Pulumi's preview; one of everything else, ten times as much as kubectl's."""
    samples = {
        "preview": [Sample(9.0, 300.0), Sample(3.0, 100.0), Sample(4.0, 200.0)],
        "first up": [Sample(20.0, 500.0)],
        "no-change up": [Sample(10.0, 400.0)],
        "one more up": [Sample(12.0, 400.0)],
        "render": [Sample(1.0, 100.0)],
        "diff": [Sample(2.0, 100.0)],
        "destroy": [Sample(30.0, 600.0)],
        "kubectl apply": [Sample(2.0, 50.0)],
        "kubectl diff": [Sample(1.0, 40.0)],
        "kubectl delete": [Sample(3.0, 60.0)],
    }
    return Measured(tenants, tenants * 5, samples)


def latencies(*engines: PolicyEngine) -> admission.Samples:
    """From 0 to 100 ms without policies, and a multiple of that under each engine."""
    return {
        (engine, request): [(admission.ENGINES.index(engine) + 1) * each / 1000 for each in range(101)]
        for request in (CREATE, DELETE)
        for engine in engines
    }


NEIGHBOURS = {
    (neighbours.SHARED, neighbours.NOBODY): neighbours.Measured([0.5, 0.4, 0.6], [2.0, 2.0, 1.0]),
    (neighbours.SHARED, "load"): neighbours.Measured([1.0, 4.0, 0.9], [1.0, 2.0, 9.0], ["helm-controller"] * 2),
    (neighbours.APART, neighbours.NOBODY): neighbours.Measured([1.0], [1.0]),
    (neighbours.APART, "load"): neighbours.Measured([1.1], [0.9]),
}
KUBECTL = kubectl.results([measured(1)])
ADMISSION = admission.results(latencies(*PolicyEngine))


def values(results: Results, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in results.rows]


def test_pulumi_is_compared_by_medians() -> None:
    assert values(KUBECTL, "step", "tenants", "objects", "runs")[0] == ("preview", 1, 5, 3)
    assert values(KUBECTL, "Pulumi s", "kubectl s", "time ×")[0] == (4.0, 1.0, 4.0)
    assert values(KUBECTL, "Pulumi MiB", "kubectl MiB", "memory ×")[0] == (200.0, 40.0, 5.0)


def test_latency_is_the_median_and_what_one_request_in_a_hundred_exceeds() -> None:
    [found] = rows_of(ADMISSION, CREATE, NONE)

    assert found["requests"] == 101
    assert (found["p50 ms"], found["p99 ms"]) == pytest.approx((50.0, 99.0))
    assert (found["p50 ×"], found["p99 ×"]) == (1.0, 1.0)


@pytest.mark.parametrize(("engine", "factor"), [(NONE, 1), (NATIVE, 2), (KYVERNO, 3), (BOTH, 4)])
def test_an_engine_is_compared_with_the_same_request_without_policies(engine: PolicyEngine, factor: int) -> None:
    [found] = rows_of(ADMISSION, DELETE, engine)
    assert (found["p50 ×"], found["p99 ×"]) == pytest.approx((factor, factor))


def test_a_neighbour_is_compared_with_the_median_beside_nobody() -> None:
    assert values(neighbours.results(NEIGHBOURS), "tenant ×", "longest s", "platform ×", "killed") == [
        (1.0, 0.6, 1.0, 0),
        (2.0, 4.0, 1.0, 2),
        (1.0, 1.0, 1.0, 0),
        (1.1, 1.1, 0.9, 0),
    ]


def test_a_lane_costs_its_part_of_what_lanes_add() -> None:
    def memory(mib: float) -> dict[str, float]:
        return dict.fromkeys(lanes.FIELDS, mib)

    costs = {0: lanes.Cost(60.0, memory(100.0), 4.0), 2: lanes.Cost(80.0, memory(300.0), 10.0)}
    assert values(lanes.results(costs), "lanes", "first up s", "s", "RSS", "anonymous", "CPU m") == [
        (0, 60.0, 0.0, 100.0, 100.0, 4.0),
        (2, 80.0, 10.0, 100.0, 100.0, 3.0),
    ]


def test_a_backend_is_compared_with_the_first() -> None:
    def stored(backend: str, first: float, peak: float, lost: int) -> backends.Measured:
        steps = dict(zip(backends.STEPS, (Sample(first, 100.0), Sample(2.0, peak), Sample(3.0, 100.0)), strict=True))
        return backends.Measured(backend, backends.AT_THE_END, 100, steps, "locked", "locked", lost)

    found = backends.results([stored(backends.FILE, 50.0, 300.0, 40), stored(backends.S3, 75.0, 100.0, 0)])
    assert values(found, "backend", "first up s", "×", "no change s", "one more s", "MiB", "lost") == [
        ("file", 50.0, 1.0, 2.0, 3.0, 300.0, 40),
        ("S3", 75.0, 1.5, 2.0, 3.0, 100.0, 0),
    ]


def test_a_fleet_is_compared_with_one_stack_after_the_other() -> None:
    samples = {"no change": Sample(40.0, 300.0), fleet.ONE_BY_ONE: Sample(80.0, 100.0)}
    assert values(fleet.results(8, samples), "step", "stacks", "s", "s of one stack", "×", "MiB") == [
        ("no change", 8, 40.0, 5.0, 0.5, 300.0),
        (fleet.ONE_BY_ONE, 8, 80.0, 10.0, 1.0, 100.0),
    ]


def test_a_diff_is_compared_with_a_render_of_as_many_tenants() -> None:
    samples = {
        review.RENDER: [Sample(2.0, 100.0), Sample(1.0, 100.0), Sample(9.0, 100.0)],
        review.ALL_CHANGED: [Sample(5.0, 200.0)],
    }
    found = review.results([review.Measured(10, samples)])
    assert values(found, "seconds", "time ×", "MiB") == [(2.0, 1.0, 100.0), (5.0, 2.5, 200.0)]


def test_each_step_is_drawn_by_the_number_of_tenants() -> None:
    [preview, *others] = kubectl.results([measured(1), measured(10)]).drawn()

    assert preview.splitlines() == [
        "```mermaid",
        "xychart-beta",
        '    title "preview"',
        '    x-axis "tenants" ["1", "10"]',
        '    y-axis "time ×"',
        "    bar [4.00, 4.00]",
        "```",
    ]
    assert len(others) == len(kubectl.BASELINES) - 1


def test_attacks_are_drawn_by_the_controllers_that_serve_the_attacker() -> None:
    shared, apart = neighbours.results(NEIGHBOURS).drawn()

    assert '["nobody", "load"]' in shared and "bar [1.00, 2.00]" in shared
    assert f'title "{neighbours.APART}"' in apart and "bar [1.00, 1.10]" in apart


def test_a_contest_without_plots_is_a_table(tmp_path: Path) -> None:
    for results in (KUBECTL, ADMISSION):
        results.write(tmp_path, {"cores": 2, "versions": {}})

    assert "```mermaid" in (tmp_path / "kubectl.md").read_text()
    assert "mermaid" not in (tmp_path / "admission.md").read_text()


def rows_of(results: Results, request: str, engine: PolicyEngine) -> list[Any]:
    return [row for row in results.rows if (row["request"], row["engine"]) == (request, engine)]
