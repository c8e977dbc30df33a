"""Pulumi against kubectl: the same tenants are created and deleted by each of them, in turns on one cluster."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

import yaml

from dev.bench.measure import Sample, measure
from dev.bench.report import Plots, Results
from dev.bench.review import LONG_ROUND_SECONDS, tenants_changed
from dev.bench.rig import STACK, Rig, repositories
from dev.lab.errors import LabError
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.render.stack import render_stack

BASELINES = {
    "preview": "kubectl diff",
    "first up": "kubectl apply",
    "no-change up": "kubectl diff",
    "one more up": "kubectl diff",
    "render": "kubectl diff",
    "diff": "kubectl diff",
    "destroy": "kubectl delete",
}
"""Each step of Pulumi and what it is compared with."""

NOTES = (
    "Pulumi runs the real program in a stack that already has Flux; only tenants are created and deleted. kubectl "
    "applies, diffs and deletes the same objects, rendered by the program's own functions, in turns on one cluster.",
    "preview, no-change up and one more up (one more tenant) are compared with `kubectl diff --server-side` of all "
    "objects, first up with `kubectl apply --server-side`, destroy with `kubectl delete --wait`; the last two return "
    "when the namespaces are gone. kubectl cannot diff an object whose namespace does not exist, so its diff is of "
    "existing objects. render is `flux-tenancy review render`, which asks no cluster and also renders Flux and the "
    "policies; diff is `flux-tenancy review diff` of one tenant's change, which renders the stack before and after it.",
    "up and destroy run without the preview that precedes them by default, and write the state at the end, as "
    "`flux-tenancy up` does; `pulumi destroy` excludes what the state had before the first up, so that Flux stays.",
    "Flux's controllers are scaled to zero and no sync is waited for: their work costs the same, whoever applied the "
    "objects.",
    "Medians. Memory is the highest sum of the resident sets of a command and its descendants, sampled every 50 ms; "
    "shared pages count once for each process.",
)

_COLUMNS = {
    "tenants": "d", "objects": "d", "step": "", "against": "", "runs": "d",
    "Pulumi s": ".2f", "kubectl s": ".2f", "time ×": ".1f",
    "Pulumi MiB": ".0f", "kubectl MiB": ".0f", "memory ×": ".1f",
}  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """The samples for a number of tenants and of their objects, by step and baseline, in the order of the rounds."""

    tenants: int
    objects: int
    samples: Mapping[str, Sequence[Sample]]


def compete(rig: Rig, tenants: int, runs: int, say: Callable[[str], None]) -> Measured:
    """Measure one number of tenants in a number of rounds, unless a round takes too long.

    Raises LabError if a command fails, or if Pulumi and kubectl disagree about the objects.
    """
    rig.configure(repositories(tenants))
    manifests = tenant_objects(rig.project.folder)
    files = [rig.project.folder / name for name in ("objects.yaml", "objects-in-reverse.yaml")]
    for file, ordered in zip(files, (manifests, manifests[::-1]), strict=True):
        file.write_text(yaml.safe_dump_all(ordered))
    samples: dict[str, list[Sample]] = defaultdict(list)
    for _ in range(runs):
        begin = time.monotonic()
        for step, sample in _round(rig, tenants, *(f"--filename={file}" for file in files)):
            samples[step].append(sample)
            say(f"{tenants:>5} tenants  {step:<15} {sample.seconds:8.2f} s {sample.peak_mib:7.0f} MiB")
        if time.monotonic() - begin > LONG_ROUND_SECONDS:
            break
    return Measured(tenants, len(manifests), samples)


def results(measured: Sequence[Measured]) -> Results:
    """Every step for every number of tenants, compared with its baseline."""
    rows, raw = [], []
    for each in measured:
        numbers = each.tenants, each.objects
        for step, baseline in BASELINES.items():
            sides = each.samples[step], each.samples[baseline]
            seconds, base_seconds = (median(sample.seconds for sample in side) for side in sides)
            peak, base_peak = (median(sample.peak_mib for sample in side) for side in sides)
            ratios = (seconds, base_seconds, seconds / base_seconds, peak, base_peak, peak / base_peak)
            rows.append(dict(zip(_COLUMNS, (*numbers, step, baseline, len(sides[0]), *ratios), strict=True)))
        for step, taken in each.samples.items():
            raw += [{"tenants": each.tenants, "objects": each.objects, "step": step, **asdict(one)} for one in taken]
    return Results("kubectl", "Pulumi against kubectl", _COLUMNS, rows, NOTES, raw, Plots("step", "tenants", "time ×"))


def _round(rig: Rig, tenants: int, objects: str, reverse: str) -> Iterator[tuple[str, Sample]]:
    """From no tenants to no tenants, once with Pulumi and once with kubectl."""
    diff = partial(rig.kubectl, "diff", "--server-side", objects)
    up = partial(rig.pulumi, "up", "--yes", "--skip-preview")

    platform = rig.urns()
    yield "preview", measure(partial(rig.pulumi, "preview"))
    yield "first up", measure(up)
    yield "no-change up", measure(partial(up, "--expect-no-changes"))
    # Not counted: it fails unless the objects are those that kubectl would have applied.
    measure(diff)
    rig.configure(repositories(tenants + 1))
    yield "one more up", measure(up)
    rig.configure(repositories(tenants))
    kept = (f"--exclude={urn}" for urn in platform)
    yield "destroy", measure(partial(rig.pulumi, "destroy", "--yes", "--skip-preview", *kept))
    if (left := rig.urns()) != platform:
        raise LabError(
            f"`pulumi destroy` left other resources than Flux's: {', '.join(sorted(left ^ platform))}",
            "destroy them: the next round would not begin without tenants",
        )
    yield "kubectl apply", measure(partial(rig.kubectl, "apply", "--server-side", objects))
    # Only now: kubectl cannot diff an object whose namespace does not exist.
    yield "kubectl diff", measure(diff)
    yield "render", measure(partial(rig.review, "render", "--out=.render"))
    with tenants_changed(rig.project.folder, 1):
        yield "diff", measure(partial(rig.review, "diff", "--base=main"))
    yield "kubectl delete", measure(partial(rig.kubectl, "delete", "--wait", reverse))


def tenant_objects(project: Path) -> list[Manifest]:
    """All objects that the program registers for the stack's tenants, namespaces first."""
    found = [each for each in render_stack(project, STACK).objects if each.owner != PLATFORM]
    return [each.manifest for each in sorted(found, key=lambda each: each.kind != "Namespace")]
