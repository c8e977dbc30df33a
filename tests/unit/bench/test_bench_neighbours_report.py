"""The report of neighbours holds each against nobody, and says the same to people and to programs."""

from __future__ import annotations

import json
from pathlib import Path

from sample_measurements import MACHINE

from bench import neighbours_report
from bench.neighbours import Beside

SAMPLES = {Beside.NOBODY: [0.5, 0.4, 0.6], Beside.INTERVALS: [1.0, 4.0, 0.9], Beside.ALWAYS: [2.0, 1.0, 6.0]}
COSTS = neighbours_report.costs(SAMPLES)


def test_each_is_divided_by_the_median_beside_nobody() -> None:
    assert [(each.ratio, each.longest_ratio) for each in COSTS] == [(1.0, 1.2), (2.0, 8.0), (4.0, 12.0)]


def test_a_page_and_the_raw_samples_are_written(tmp_path: Path) -> None:
    neighbours_report.write(tmp_path / "results", SAMPLES, COSTS, MACHINE)

    page = (tmp_path / "results" / "neighbours.md").read_text()
    assert "| busy all the time | 3 | 2.00 | 6.00 | 4.0 | 12.0 |" in page
    assert all(note in page for note in neighbours_report.NOTES)
    content = json.loads((tmp_path / "results" / "neighbours.json").read_text())
    assert content["samples"][2] == {"beside": "busy all the time", "seconds": [2.0, 1.0, 6.0]}
    assert content["machine"] == MACHINE
