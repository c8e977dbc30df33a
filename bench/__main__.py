"""`python -m bench`: measure, and write what was found."""

from __future__ import annotations

import signal
import sys
from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench import admission_report, neighbours_report, report
from bench.admission import measure_admission
from bench.contest import compete
from bench.latencies import BASELINE, ENGINES, latencies
from bench.machine import facts
from bench.measure import Sample
from bench.neighbours import measure_neighbours
from bench.results import Measured, ratios
from bench.rig import Rig, running_rig
from components.policies.config import PolicyEngine
from lab.errors import reported

RESULTS = Path(__file__).parent / "results"


class Contest(StrEnum):
    """What can be measured, in the order in which it is."""

    KUBECTL = "kubectl"
    ADMISSION = "admission"
    NEIGHBOURS = "neighbours"


def main(
    contests: Annotated[
        list[Contest] | None,
        typer.Argument(
            help="Pulumi against kubectl, what admission adds, what a tenant costs another; all where none is named",
            show_default=False,
        ),
    ] = None,
    tenants: Annotated[str, typer.Option(help="kubectl: numbers of tenants, with commas")] = "1,10,100",
    runs: Annotated[int, typer.Option(min=1, help="kubectl: rounds; a dear one stands alone")] = 3,
    requests: Annotated[int, typer.Option(min=4, help="admission: requests of each kind under each engine")] = 400,
    engines: Annotated[str, typer.Option(help="admission: engines beside none, with commas")] = "native,kyverno,both",
    commits: Annotated[int, typer.Option(min=1, help="neighbours: pushes in each neighbourhood")] = 10,
    results: Annotated[Path, typer.Option(help="folder for the results")] = RESULTS,
) -> None:
    """Measure the program against kubectl, a tenant's requests with policies against those without, and neighbours."""
    counts, compared = _counts(tenants), _engines(engines)
    # As on Ctrl-C, the cluster is stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with reported("the benchmark's cluster is stopped and deleted"):
        typer.echo("Starting a cluster for the benchmark, with Flux", err=True)
        with running_rig() as rig:
            if Contest.KUBECTL in (contests or Contest):
                _kubectl(rig, counts, runs, results)
            if Contest.ADMISSION in (contests or Contest):
                _admission(rig, compared, requests, results)
            # Last: Flux works from then on.
            if Contest.NEIGHBOURS in (contests or Contest):
                _neighbours(rig, commits, results)
    typer.echo(f"written to {results}", err=True)


def _counts(tenants: str) -> list[int]:
    counts = [int(part) if part.strip().isdecimal() else 0 for part in tenants.split(",")]
    if not all(counts):
        raise typer.BadParameter(f"{tenants!r} is not a list of numbers from 1 on, like 1,10,100")
    return counts


def _engines(names: str) -> list[PolicyEngine]:
    """Those that are named, together with what they are held against."""
    named = {name.strip() for name in names.split(",")}
    if not named <= set(ENGINES):
        raise typer.BadParameter(f"{names!r} is not a list of engines, like native,kyverno,both")
    return [engine for engine in ENGINES if engine in named or engine is BASELINE]


def _kubectl(rig: Rig, counts: Collection[int], runs: int, results: Path) -> None:
    machine = facts(rig.settings)
    measured: list[Measured] = [compete(rig, count, runs, _tell) for count in counts]
    found = ratios(measured)
    report.write(results, measured, found, machine)
    _show(report.results(found).table())


def _admission(rig: Rig, engines: list[PolicyEngine], requests: int, results: Path) -> None:
    machine = facts(rig.settings)
    samples = measure_admission(
        rig, requests, lambda engine: typer.echo(f"measuring with the engine {engine}", err=True), engines
    )
    found = latencies(samples)
    admission_report.write(results, samples, found, machine)
    _show(admission_report.results(found).table())


def _neighbours(rig: Rig, commits: int, results: Path) -> None:
    machine = facts(rig.settings)
    samples = measure_neighbours(
        rig, commits, lambda beside, seconds: typer.echo(f"beside {beside}: {seconds:8.2f} s", err=True)
    )
    found = neighbours_report.costs(samples)
    neighbours_report.write(results, samples, found, machine)
    _show(neighbours_report.results(found).table())


def _show(table: Table) -> None:
    # Into a file or a pipe the table goes as wide as it needs.
    Console(width=None if sys.stdout.isatty() else report.WIDTH).print(table)


def _tell(tenants: int, name: str, sample: Sample) -> None:
    figures = f"{sample.seconds:8.2f} s {sample.peak_mib:7.0f} MiB"
    typer.echo(f"{tenants:>5} tenants  {name:<15} {figures}", err=True)


if __name__ == "__main__":
    typer.run(main)
