"""`python -m dev.bench CONTEST` measures each contest that it lists, and writes its results."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

import dev.bench.__main__ as command
from dev.bench import neighbours
from dev.bench.__main__ import Contest
from dev.bench.report import Results

MEASURED = {
    Contest.REVIEW: "measure_review",
    Contest.KUBECTL: "compete",
    Contest.ADMISSION: "measure_admission",
    Contest.NEIGHBOURS: "measure_neighbours",
    Contest.LANES: "measure_lanes",
    Contest.BACKENDS: "measure_backends",
    Contest.FLEET: "measure_fleet",
}
"""The function of each contest's module that measures."""


FACTS = {"cores": 2, "memory_mib": 1, "load": 0.0, "system": "", "versions": {}}


@contextmanager
def rig() -> Iterator[SimpleNamespace]:
    yield SimpleNamespace(machine=lambda: FACTS)


@pytest.mark.parametrize("contest", Contest)
def test_a_contest_is_measured_and_its_results_are_written(contest: Contest, tmp_path: Path, monkeypatch) -> None:
    module = getattr(command, contest.value)
    measured: list[str] = []
    monkeypatch.setattr(command, "running_rig", rig)
    monkeypatch.setattr(neighbours, "require_limits", lambda _: None)

    def measure(*_: object) -> list[str]:
        measured.append(contest)
        return []

    monkeypatch.setattr(module, MEASURED[contest], measure)
    monkeypatch.setattr(module, "results", lambda *_: Results(contest, "", {}, [], (), []))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    app = typer.Typer()
    app.command()(command.main)

    done = CliRunner().invoke(app, [contest, "--tenants", "1", "--results", str(tmp_path)])

    assert done.exit_code == 0, done.output
    assert measured == [contest]
    assert (tmp_path / f"{contest}.json").is_file()
