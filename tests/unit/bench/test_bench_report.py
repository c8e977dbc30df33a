"""The report says the same to people and to programs."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

from rich.console import Console
from sample_measurements import MACHINE, measured

from bench import report
from bench.results import ratios

MEASURED = [measured(1), measured(100)]
RATIOS = ratios(MEASURED)


def test_markdown_has_a_line_for_each_ratio_and_says_how_it_was_measured() -> None:
    page = report.results(RATIOS).markdown(MACHINE)
    assert "| 100 | 500 | first up | kubectl apply | 1 | 20.00 | 2.00 | 10.0 | 500 | 50 | 10.0 |" in page
    assert page.count("\n| ") == 2 + len(RATIOS)
    assert "2 cores, 24000 MiB" in page and "pulumi v3.259.0" in page
    assert all(note in page for note in report.NOTES)


def test_json_keeps_every_raw_sample() -> None:
    content = json.loads(report.as_json(MEASURED, RATIOS, MACHINE))
    previews = [sample for sample in content["samples"] if (sample["tenants"], sample["step"]) == (1, "preview")]
    assert [sample["seconds"] for sample in previews] == [9.0, 3.0, 4.0]
    assert {sample["step"] for sample in content["samples"]} >= {"kubectl apply", "kubectl diff", "kubectl delete"}
    assert content["ratios"][1]["time"] == 10.0
    assert content["machine"] == MACHINE


def test_the_table_fits_the_width_that_it_asks_for() -> None:
    console = Console(width=report.WIDTH, record=True, file=StringIO())
    console.print(report.results(RATIOS).table())
    text = console.export_text()
    assert "…" not in text
    assert "no-change up" in text and "kubectl delete" in text


def test_all_three_files_are_written(tmp_path: Path) -> None:
    report.write(tmp_path / "results", MEASURED, RATIOS, MACHINE)
    assert sorted(file.name for file in (tmp_path / "results").iterdir()) == [
        "results.json",
        "results.md",
        "results.png",
    ]
    assert (tmp_path / "results" / "results.png").read_bytes().startswith(b"\x89PNG")
