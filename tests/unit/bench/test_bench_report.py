"""The table, the page and the JSON of a contest agree; each figure is compared with its own baseline."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bench import admission, kubectl, neighbours
from bench.kubectl import BASELINES, Measured
from bench.measure import Sample
from bench.report import WIDTH, Results
from components.policies.config import PolicyEngine

MACHINE = {
    "cores": 2,
    "memory_mib": 24000,
    "load": 0.25,
    "system": "Linux 6.1 x86_64",
    "versions": {"pulumi": "v3.259.0", "kubectl": "1.37.1"},
}
NONE, NATIVE, KYVERNO, BOTH = admission.ENGINES
CREATE, DELETE = "create Kustomization", "delete ConfigMap, no policy"


def measured(tenants: int) -> Measured:
    """Three samples of Pulumi's preview; one of everything else, ten times as much as kubectl's."""
    samples = {
        "preview": [Sample(9.0, 300.0), Sample(3.0, 100.0), Sample(4.0, 200.0)],
        "first up": [Sample(20.0, 500.0)],
        "no-change up": [Sample(10.0, 400.0)],
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
    neighbours.NOBODY: [0.5, 0.4, 0.6],
    neighbours.INTERVALS: [1.0, 4.0, 0.9],
    neighbours.ALWAYS: [2.0, 1.0, 6.0],
}
KUBECTL = kubectl.results([measured(1), measured(100)])
ADMISSION = admission.results(latencies(*PolicyEngine))
ALL = {
    "kubectl": KUBECTL,
    "admission": ADMISSION,
    "neighbours": neighbours.results(NEIGHBOURS),
}
each_contest = pytest.mark.parametrize("results", ALL.values(), ids=ALL)


@each_contest
def test_a_page_has_every_row_the_machine_and_the_notes(results: Results, tmp_path: Path) -> None:
    page = page_of(results, tmp_path)

    assert page.count("\n| ") == 1 + len(results.rows)
    assert "cores 2, memory_mib 24000" in page and "pulumi v3.259.0" in page
    assert all(note in page for note in results.notes)


@pytest.mark.parametrize(
    ("contest", "row"),
    [
        ("kubectl", "| 100 | 500 | first up | kubectl apply | 1 | 20.00 | 2.00 | 10.0 | 500 | 50 | 10.0 |"),
        ("admission", "| create Kustomization | kyverno | 101 | 150.0 | 3.00 | 297.0 | 3.00 |"),
        ("neighbours", "| busy all the time | 3 | 2.00 | 6.00 | 4.0 | 12.0 |"),
    ],
)
def test_numbers_are_rounded_on_the_page(contest: str, row: str, tmp_path: Path) -> None:
    assert row in re.sub(" +", " ", page_of(ALL[contest], tmp_path))


@each_contest
def test_a_table_fits_the_width_that_it_asks_for(results: Results) -> None:
    console = Console(width=WIDTH, record=True, file=StringIO())
    console.print(results.table())
    text = console.export_text()

    assert "…" not in text
    assert all(str(row[next(iter(results.columns))]) in text for row in results.rows)


@each_contest
def test_each_contest_writes_a_page_and_json(results: Results, tmp_path: Path) -> None:
    results.write(tmp_path / "results", MACHINE)

    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == [
        f"{results.name}.json",
        f"{results.name}.md",
    ]
    content = json.loads((tmp_path / "results" / f"{results.name}.json").read_text())
    assert content["machine"] == MACHINE
    assert content["results"] == json.loads(json.dumps(results.rows))


def test_the_contests_write_different_files() -> None:
    assert [results.name for results in ALL.values()] == list(ALL)


def test_json_keeps_every_sample() -> None:
    previews = [each for each in KUBECTL.samples if (each["tenants"], each["step"]) == (1, "preview")]
    assert [each["seconds"] for each in previews] == [9.0, 3.0, 4.0]
    assert {each["step"] for each in KUBECTL.samples} == {*BASELINES, *BASELINES.values()}

    assert len(ADMISSION.samples) == 8
    assert ADMISSION.samples[0]["seconds"] == latencies(NATIVE)[NATIVE, CREATE]
    assert ALL["neighbours"].samples[2] == {"beside": neighbours.ALWAYS, "seconds": [2.0, 1.0, 6.0]}


def test_pulumi_is_compared_by_medians() -> None:
    preview = KUBECTL.rows[0]
    assert (preview["step"], preview["tenants"], preview["objects"], preview["runs"]) == ("preview", 1, 5, 3)
    assert (preview["Pulumi s"], preview["kubectl s"], preview["time ×"]) == (4.0, 1.0, 4.0)
    assert (preview["Pulumi MiB"], preview["kubectl MiB"], preview["memory ×"]) == (200.0, 40.0, 5.0)


@pytest.mark.parametrize(
    ("step", "baseline"),
    [
        ("preview", "kubectl diff"),
        ("first up", "kubectl apply"),
        ("no-change up", "kubectl diff"),
        ("render", "kubectl diff"),
        ("diff", "kubectl diff"),
        ("destroy", "kubectl delete"),
    ],
)
def test_each_step_has_its_own_baseline(step: str, baseline: str) -> None:
    assert {row["against"] for row in KUBECTL.rows if row["step"] == step} == {baseline}


def test_every_number_of_tenants_has_every_step() -> None:
    assert [(row["tenants"], row["step"]) for row in KUBECTL.rows] == [
        (n, step) for n in (1, 100) for step in BASELINES
    ]


def test_latency_is_the_median_and_what_one_request_in_a_hundred_exceeds() -> None:
    [found] = rows_of(ADMISSION, CREATE, NONE)

    assert found["requests"] == 101
    assert (found["p50 ms"], found["p99 ms"]) == pytest.approx((50.0, 99.0))
    assert (found["p50 ×"], found["p99 ×"]) == (1.0, 1.0)


@pytest.mark.parametrize(("engine", "factor"), [(NONE, 1), (NATIVE, 2), (KYVERNO, 3), (BOTH, 4)])
def test_an_engine_is_compared_with_the_same_request_without_policies(engine: PolicyEngine, factor: int) -> None:
    [found] = rows_of(ADMISSION, DELETE, engine)
    assert (found["p50 ×"], found["p99 ×"]) == pytest.approx((factor, factor))


def test_engines_are_in_order() -> None:
    assert [(row["request"], row["engine"]) for row in ADMISSION.rows] == [
        (request, engine) for request in (CREATE, DELETE) for engine in admission.ENGINES
    ]


def test_a_neighbour_is_compared_with_the_median_beside_nobody() -> None:
    rows = ALL["neighbours"].rows
    assert [(row["median ×"], row["longest ×"]) for row in rows] == [(1.0, 1.2), (2.0, 8.0), (4.0, 12.0)]


def page_of(results: Results, folder: Path) -> str:
    results.write(folder, MACHINE)
    return (folder / f"{results.name}.md").read_text()


def rows_of(results: Results, request: str, engine: PolicyEngine) -> list[Any]:
    return [row for row in results.rows if (row["request"], row["engine"]) == (request, engine)]
