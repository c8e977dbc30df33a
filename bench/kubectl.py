"""Pulumi against kubectl: the same tenants are created and deleted by each of them, in turns on one cluster."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from typing import Any

from bench.measure import Sample, measure
from bench.report import Results
from bench.rig import Rig
from bench.workload import TENANT_URNS, repositories

BASELINES = {
    "preview": "kubectl diff",
    "first up": "kubectl apply",
    "no-change up": "kubectl diff",
    "render": "kubectl diff",
    "destroy": "kubectl delete",
}
"""Each step of Pulumi and what it is compared with."""

NOTES = (
    "Pulumi runs the real program in a stack that already has Flux; only tenants are created and deleted. kubectl "
    "applies, diffs and deletes the same objects, rendered by the program's own functions, in turns on one cluster.",
    "preview and no-change up are compared with `kubectl diff --server-side`, first up with `kubectl apply "
    "--server-side`, destroy with `kubectl delete --wait`; the last two return when the namespaces are gone. kubectl "
    "cannot diff an object whose namespace does not exist, so its diff is of existing objects. render is `make "
    "render`, which asks no cluster and has Flux and the policies in it as well.",
    "up and destroy run without the preview that precedes them by default; `pulumi destroy` selects the tenants with "
    "--target, so that Flux stays.",
    "Flux's controllers are scaled to zero and no sync is waited for: their work costs the same, whoever applied the "
    "objects.",
    "Medians. Memory is the highest sum of the resident sets of a command and its descendants, sampled every 50 ms; "
    "shared pages count once for each process.",
)

LONG_ROUND_SECONDS = 60.0
"""A round that takes longer than this is not repeated."""

_COLUMNS = {
    "tenants": "d", "objects": "d", "step": "", "against": "", "runs": "d",
    "Pulumi s": ".2f", "kubectl s": ".2f", "time ×": ".1f",
    "Pulumi MiB": ".0f", "kubectl MiB": ".0f", "memory ×": ".1f",
}  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """The samples for one number of tenants.

    Attributes:
        tenants: number of tenants.
        objects: number of their Kubernetes objects.
        samples: samples of each step and baseline, in the order in which they were taken.
    """

    tenants: int
    objects: int
    samples: Mapping[str, Sequence[Sample]]


def compete(rig: Rig, tenants: int, runs: int, say: Callable[[str], None]) -> Measured:
    """Measure one number of tenants.

    Args:
        runs: number of rounds, unless a round takes too long.
        say: receives each sample as a line of text.

    Raises:
        LabError: a command failed, or Pulumi and kubectl disagree about the objects.
    """
    objects = rig.workload.set_tenants(repositories(tenants))
    samples: dict[str, list[Sample]] = defaultdict(list)
    for _ in range(runs):
        begin = time.monotonic()
        for step, sample in _round(rig):
            samples[step].append(sample)
            say(f"{tenants:>5} tenants  {step:<15} {sample.seconds:8.2f} s {sample.peak_mib:7.0f} MiB")
        if time.monotonic() - begin > LONG_ROUND_SECONDS:
            break
    return Measured(tenants, len(objects), samples)


def results(measured: Sequence[Measured]) -> Results:
    """Every step for every number of tenants, compared with its baseline."""
    rows = [_row(each, step, baseline) for each in measured for step, baseline in BASELINES.items()]
    samples = [
        {"tenants": each.tenants, "objects": each.objects, "step": step, **asdict(sample)}
        for each in measured
        for step, taken in each.samples.items()
        for sample in taken
    ]
    return Results("kubectl", "Pulumi against kubectl", _COLUMNS, rows, NOTES, samples)


def _round(rig: Rig) -> Iterator[tuple[str, Sample]]:
    """From no tenants to no tenants, once with Pulumi and once with kubectl."""
    objects, reverse = f"--filename={rig.workload.objects_file}", f"--filename={rig.workload.reverse_file}"
    diff = partial(rig.kubectl, "diff", "--server-side", objects)
    up = partial(rig.pulumi, "up", "--yes", "--skip-preview")

    yield "preview", measure(partial(rig.pulumi, "preview"))
    yield "first up", measure(up)
    yield "no-change up", measure(partial(up, "--expect-no-changes"))
    # Not counted: it fails unless the objects are those that kubectl would have applied.
    measure(diff)
    yield "destroy", measure(partial(rig.pulumi, "destroy", "--yes", "--skip-preview", f"--target={TENANT_URNS}"))
    yield "kubectl apply", measure(partial(rig.kubectl, "apply", "--server-side", objects))
    # Only now: kubectl cannot diff an object whose namespace does not exist.
    yield "kubectl diff", measure(diff)
    yield "render", measure(rig.render)
    yield "kubectl delete", measure(partial(rig.kubectl, "delete", "--wait", reverse))


def _row(measured: Measured, step: str, baseline: str) -> dict[str, Any]:
    (pulumi_s, pulumi_mib), (kubectl_s, kubectl_mib) = (_medians(measured.samples[name]) for name in (step, baseline))
    values = (
        measured.tenants, measured.objects, step, baseline, len(measured.samples[step]),
        pulumi_s, kubectl_s, pulumi_s / kubectl_s, pulumi_mib, kubectl_mib, pulumi_mib / kubectl_mib,
    )  # fmt: skip
    return dict(zip(_COLUMNS, values, strict=True))


def _medians(samples: Sequence[Sample]) -> tuple[float, float]:
    return median(each.seconds for each in samples), median(each.peak_mib for each in samples)
