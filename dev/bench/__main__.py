"""`python -m dev.bench`: measure, and write the results."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from dev.bench import admission, backends, fleet, kubectl, lanes, neighbours, review
from dev.bench.report import WIDTH, Results
from dev.bench.rig import running_rig
from dev.lab.errors import reported
from dev.lab.settings import HIGHEST_INDEX

RESULTS = Path(__file__).parent / "results"


class Contest(StrEnum):
    """What can be measured, in this order.

    The rig's Flux runs from neighbours on; backends and fleet start clusters of their own.
    """

    REVIEW = "review"
    KUBECTL = "kubectl"
    ADMISSION = "admission"
    NEIGHBOURS = "neighbours"
    LANES = "lanes"
    BACKENDS = "backends"
    FLEET = "fleet"


def main(
    contests: Annotated[list[Contest], typer.Argument(help="what to measure")] = [*Contest],  # noqa: B006 - typer copies it
    tenants: Annotated[list[int], typer.Option(min=1, help="numbers of tenants; backends: the highest")] = [1, 10, 100],  # noqa: B006 - typer copies it
    runs: Annotated[int, typer.Option(min=1, help="review, kubectl: rounds; one that takes long is not repeated")] = 3,
    requests: Annotated[int, typer.Option(min=4, help="admission: requests of each kind under each engine")] = 400,
    commits: Annotated[int, typer.Option(min=1, help="neighbours: pushes beside each attack")] = 5,
    attacks: Annotated[list[str], typer.Option("--attack", help="neighbours: how names of attacks begin")] = [""],  # noqa: B006 - typer copies it
    numbers: Annotated[list[int], typer.Option("--lanes", min=1, max=8, help="lanes: numbers of lanes")] = [1, 2, 4, 8],  # noqa: B006 - typer copies it
    stacks: Annotated[int, typer.Option(min=3, max=HIGHEST_INDEX, help="fleet: stacks, each with a cluster")] = 8,
    folder: Annotated[Path, typer.Option("--results", help="folder for the results")] = RESULTS,
) -> None:
    """Measure reviews, Pulumi against kubectl, policies, tenants beside an attacker, lanes, backends, and a fleet."""
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
                elif contest is Contest.NEIGHBOURS:
                    results = neighbours.results(neighbours.measure_neighbours(rig, commits, _say, attacks))
                else:
                    continue
                _show(results, folder, facts)
        if Contest.BACKENDS in contests:
            _show(backends.results([*backends.measure_backends(max(tenants), _say)]), folder, facts)
        if Contest.FLEET in contests:
            _show(fleet.results(stacks, fleet.measure_fleet(stacks, _say)), folder, facts)
    _say(f"Results are in {folder}")


def _show(results: Results, folder: Path, facts: Mapping[str, Any]) -> None:
    results.write(folder, facts)
    Console(width=WIDTH).print(results.table())


def _say(text: str) -> None:
    typer.echo(text, err=True)


if __name__ == "__main__":
    typer.run(main)
