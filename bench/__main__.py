"""`python -m bench`: measure, and write what was found."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench import report
from bench.contest import compete
from bench.machine import facts
from bench.measure import Sample
from bench.results import Measured, ratios
from bench.rig import running_rig
from lab.errors import reported

RESULTS = Path(__file__).parent / "results"


def main(
    tenants: Annotated[str, typer.Option(help="numbers of tenants, with commas")] = "1,10,100",
    runs: Annotated[int, typer.Option(min=1, help="rounds to take the median of; a dear one stands alone")] = 3,
    results: Annotated[Path, typer.Option(help="folder for results.{json,md,png}")] = RESULTS,
) -> None:
    """Measure preview, first up, no-change up and destroy of the real program against kubectl."""
    # As on Ctrl-C, the cluster is stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with reported("the benchmark's cluster is stopped and deleted"):
        _bench(_counts(tenants), runs, results)


def _counts(tenants: str) -> list[int]:
    counts = [int(part) if part.strip().isdecimal() else 0 for part in tenants.split(",")]
    if not all(counts):
        raise typer.BadParameter(f"{tenants!r} is not a list of numbers from 1 on, like 1,10,100")
    return counts


def _bench(counts: list[int], runs: int, results: Path) -> None:
    typer.echo("Starting a cluster for the benchmark, with Flux", err=True)
    measured: list[Measured] = []
    with running_rig() as rig:
        machine = facts(rig.settings)
        for count in counts:
            measured.append(compete(rig, count, runs, _tell))
    found = ratios(measured)
    report.write(results, measured, found, machine)
    # Into a file or a pipe the table goes as wide as it needs.
    Console(width=None if sys.stdout.isatty() else report.WIDTH).print(report.table(found))
    typer.echo(f"written to {results}", err=True)


def _tell(tenants: int, name: str, sample: Sample) -> None:
    figures = f"{sample.seconds:8.2f} s {sample.peak_mib:7.0f} MiB"
    typer.echo(f"{tenants:>5} tenants  {name:<15} {figures}", err=True)


if __name__ == "__main__":
    typer.run(main)
