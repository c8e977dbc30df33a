"""The report of admission says the same to people and to programs."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

from rich.console import Console
from sample_latencies import samples
from sample_measurements import MACHINE

from bench import admission_report
from bench.latencies import latencies
from bench.report import WIDTH
from components.policies.config import PolicyEngine

SAMPLES = samples(*PolicyEngine)
LATENCIES = latencies(SAMPLES)


def test_markdown_has_a_line_for_each_request_and_engine_and_says_how_it_was_measured() -> None:
    page = admission_report.results(LATENCIES).markdown(MACHINE)

    assert "| create Kustomization | kyverno | 101 | 150.0 | 3.00 | 297.0 | 3.00 |" in page
    assert page.count("\n| ") == 2 + len(LATENCIES)
    assert "2 cores, 24000 MiB" in page and "pulumi v3.259.0" in page
    assert all(note in page for note in admission_report.NOTES)


def test_json_keeps_every_raw_sample() -> None:
    content = json.loads(admission_report.as_json(SAMPLES, LATENCIES, MACHINE))

    assert len(content["samples"]) == len(SAMPLES)
    first = content["samples"][0]
    assert (first["engine"], first["verb"], first["target"]) == ("native", "create", "Kustomization")
    assert first["seconds"] == SAMPLES[PolicyEngine.NATIVE, LATENCIES[0].request]
    assert content["latencies"][1]["p50_ratio"] == 2.0
    assert content["machine"] == MACHINE


def test_the_table_fits_the_width_that_the_others_ask_for() -> None:
    console = Console(width=WIDTH, record=True, file=StringIO())
    console.print(admission_report.results(LATENCIES).table())

    text = console.export_text()

    assert "…" not in text
    assert "delete ConfigMap, no policy" in text


def test_all_three_files_are_written_beside_those_of_the_other_contest(tmp_path: Path) -> None:
    admission_report.write(tmp_path / "results", SAMPLES, LATENCIES, MACHINE)

    names = sorted(file.name for file in (tmp_path / "results").iterdir())
    assert names == ["admission.json", "admission.md", "admission.png"]
    assert (tmp_path / "results" / "admission.png").read_bytes().startswith(b"\x89PNG")


def test_engines_that_were_not_measured_are_left_out(tmp_path: Path) -> None:
    two = samples(PolicyEngine.NONE, PolicyEngine.NATIVE)

    admission_report.write(tmp_path, two, latencies(two), MACHINE)

    assert "kyverno |" not in (tmp_path / "admission.md").read_text()
