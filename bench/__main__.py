"""`python -m bench`: measure, and write the results."""

from __future__ import annotations

import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench import admission, kubectl, neighbours
from bench.report import WIDTH, Results
from bench.rig import machine, running_rig
from components.policies.config import PolicyEngine
from lab.errors import reported

RESULTS = Path(__file__).parent / "results"


class Contest(StrEnum):
    """What can be measured, in this order."""

    KUBECTL = "kubectl"
    ADMISSION = "admission"
    NEIGHBOURS = "neighbours"


def main(
    contests: Annotated[
        list[Contest] | None,
        typer.Argument(
            help="Pulumi against kubectl, what admission adds, what a tenant costs another; by default all of them",
            show_default=False,
        ),
    ] = None,
    tenants: Annotated[list[int], typer.Option(min=1, help="kubectl: number of tenants; repeatable")] = [1, 10, 100],  # noqa: B006 - typer copies it
    runs: Annotated[int, typer.Option(min=1, help="kubectl: rounds; one that takes long is not repeated")] = 3,
    requests: Annotated[int, typer.Option(min=4, help="admission: requests of each kind under each engine")] = 400,
    engines: Annotated[list[PolicyEngine], typer.Option(help="admission: engine; repeatable")] = [*admission.ENGINES],  # noqa: B006 - typer copies it
    commits: Annotated[int, typer.Option(min=1, help="neighbours: pushes beside each neighbour")] = 10,
    folder: Annotated[Path, typer.Option("--results", help="folder for the results")] = RESULTS,
) -> None:
    """Measure Pulumi against kubectl, a tenant's requests with and without policies, and a tenant beside another."""
    compared = [each for each in admission.ENGINES if each in engines or each is admission.BASELINE]
    # As on Ctrl-C, the cluster is stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with reported("the benchmark's cluster is stopped and deleted"):
        _say("Starting a cluster for the benchmark, with Flux")
        with running_rig() as rig:
            facts = machine(rig.settings)

            def show(results: Results) -> None:
                results.write(folder, facts)
                # In a file or a pipe the table is as wide as it has to be.
                Console(width=None if sys.stdout.isatty() else WIDTH).print(results.table())

            if Contest.KUBECTL in (contests or Contest):
                show(kubectl.results([kubectl.compete(rig, count, runs, _say) for count in tenants]))
            if Contest.ADMISSION in (contests or Contest):
                show(admission.results(admission.measure_admission(rig, requests, _say, compared)))
            # Last, since it starts Flux's controllers.
            if Contest.NEIGHBOURS in (contests or Contest):
                show(neighbours.results(neighbours.measure_neighbours(rig, commits, _say)))
    _say(f"Results are in {folder}")


def _say(text: str) -> None:
    typer.echo(text, err=True)


if __name__ == "__main__":
    typer.run(main)
