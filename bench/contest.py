"""The contest: the same tenants come and go through Pulumi and through kubectl, in turns on one cluster."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial

from bench.measure import Sample, measure
from bench.results import Baseline, Measured, Step
from bench.rig import Rig
from bench.workload import TENANT_URNS

DEAR_SECONDS = 60.0
"""A round that takes longer than this is not repeated."""

Told = Callable[[int, str, Sample], None]
"""Told of each sample: number of tenants, what was measured, and the sample."""


def compete(rig: Rig, tenants: int, runs: int, told: Told) -> Measured:
    """Measure one number of tenants.

    Args:
        runs: rounds, as long as a round is not dear.

    Raises:
        LabError: a command failed, or Pulumi and kubectl do not agree on the objects.
    """
    objects = rig.workload.set_tenants(tenants)
    samples: dict[Step | Baseline, list[Sample]] = defaultdict(list)
    for _ in range(runs):
        begin = time.monotonic()
        for name, sample in _round(rig):
            samples[name].append(sample)
            told(tenants, name, sample)
        if time.monotonic() - begin > DEAR_SECONDS:
            break
    return Measured(tenants, len(objects), dict(samples))


def _round(rig: Rig) -> Iterator[tuple[Step | Baseline, Sample]]:
    """From no tenants to no tenants, once through each of the two."""
    workload = rig.workload
    diff = partial(rig.kubectl, "diff", "--server-side", f"--filename={workload.objects_file}")
    apply = partial(rig.kubectl, "apply", "--server-side", f"--filename={workload.objects_file}")
    delete = partial(rig.kubectl, "delete", "--wait", f"--filename={workload.reverse_file}")
    up = partial(rig.pulumi, "up", "--yes", "--skip-preview")
    destroy = partial(rig.pulumi, "destroy", "--yes", "--skip-preview", f"--target={TENANT_URNS}")

    yield Step.PREVIEW, measure(partial(rig.pulumi, "preview"))
    yield Step.FIRST_UP, measure(up)
    yield Step.NO_CHANGE_UP, measure(partial(up, "--expect-no-changes"))
    # Not counted: kubectl finds just the objects that it would have applied itself, or this fails.
    measure(diff)
    yield Step.DESTROY, measure(destroy)
    yield Baseline.APPLY, measure(apply)
    # Only now: of an object whose namespace does not exist yet there is no diff.
    yield Baseline.DIFF, measure(diff)
    yield Baseline.DELETE, measure(delete)
