"""`python -m bench`: measure, and write the results."""

from __future__ import annotations

import signal
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench import admission, kubectl, lanes, neighbours, review
from bench.report import WIDTH
from bench.rig import running_rig
from lab.errors import reported

RESULTS = Path(__file__).parent / "results"


class Contest(StrEnum):
    """What can be measured, in this order: the last two start Flux's controllers."""

    REVIEW = "review"
    KUBECTL = "kubectl"
    ADMISSION = "admission"
    NEIGHBOURS = "neighbours"
    LANES = "lanes"


def main(
    contests: Annotated[list[Contest], typer.Argument(help="what to measure")] = [*Contest],  # noqa: B006 - typer copies it
    tenants: Annotated[list[int], typer.Option(min=1, help="review, kubectl: numbers of tenants")] = [1, 10, 100],  # noqa: B006 - typer copies it
    runs: Annotated[int, typer.Option(min=1, help="review, kubectl: rounds; one that takes long is not repeated")] = 3,
    requests: Annotated[int, typer.Option(min=4, help="admission: requests of each kind under each engine")] = 400,
    commits: Annotated[int, typer.Option(min=1, help="neighbours: pushes beside each attack")] = 5,
    numbers: Annotated[list[int], typer.Option("--lanes", min=1, max=8, help="lanes: numbers of lanes")] = [1, 2, 4, 8],  # noqa: B006 - typer copies it
    folder: Annotated[Path, typer.Option("--results", help="folder for the results")] = RESULTS,
) -> None:
    """Measure reviews, Pulumi against kubectl, what policies add to requests, tenants beside an attacker, and lanes."""
    # As on Ctrl-C, the cluster is stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with reported("the benchmark's cluster is stopped and deleted"):
        _say("Starting a cluster for the benchmark, with Flux")
        with running_rig() as rig:
            if Contest.NEIGHBOURS in contests:
                neighbours.require_limits(rig)
            facts = rig.machine()
            for contest in (each for each in Contest if each in contests):
                if contest is Contest.REVIEW:
                    results = review.results([review.measure_review(rig, count, runs, _say) for count in tenants])
                elif contest is Contest.KUBECTL:
                    results = kubectl.results([kubectl.compete(rig, count, runs, _say) for count in tenants])
                elif contest is Contest.ADMISSION:
                    results = admission.results(admission.measure_admission(rig, requests, _say))
                elif contest is Contest.LANES:
                    results = lanes.results(lanes.measure_lanes(rig, numbers, _say))
                else:
                    results = neighbours.results(neighbours.measure_neighbours(rig, commits, _say))
                results.write(folder, facts)
                Console(width=WIDTH).print(results.table())
    _say(f"Results are in {folder}")


def _say(text: str) -> None:
    typer.echo(text, err=True)


if __name__ == "__main__":
    typer.run(main)
