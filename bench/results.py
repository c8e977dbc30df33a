"""The results as plain data: samples, and the ratios that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from bench.measure import Sample


class Step(StrEnum):
    """What is measured of Pulumi."""

    PREVIEW = "preview"
    FIRST_UP = "first up"
    NO_CHANGE_UP = "no-change up"
    DESTROY = "destroy"


class Baseline(StrEnum):
    """What it is held against: the same objects through kubectl."""

    APPLY = "kubectl apply"
    DIFF = "kubectl diff"
    DELETE = "kubectl delete"


BASELINES = {
    Step.PREVIEW: Baseline.DIFF,
    Step.FIRST_UP: Baseline.APPLY,
    Step.NO_CHANGE_UP: Baseline.DIFF,
    Step.DESTROY: Baseline.DELETE,
}


@dataclass(frozen=True)
class Measured:
    """All samples of one number of tenants.

    Attributes:
        tenants: how many.
        objects: how many Kubernetes objects they are.
        samples: of each step and baseline, in the order in which they were taken.
    """

    tenants: int
    objects: int
    samples: dict[Step | Baseline, list[Sample]]


@dataclass(frozen=True)
class Ratio:
    """One step against its baseline; seconds and MiB are medians.

    Attributes:
        time: Pulumi's seconds divided by kubectl's.
        memory: Pulumi's peak memory divided by kubectl's.
    """

    tenants: int
    objects: int
    step: Step
    baseline: Baseline
    runs: int
    pulumi_seconds: float
    kubectl_seconds: float
    time: float
    pulumi_mib: float
    kubectl_mib: float
    memory: float


def ratios(measured: Sequence[Measured]) -> list[Ratio]:
    """Every step of every number of tenants against its baseline."""
    return [_ratio(each, step, baseline) for each in measured for step, baseline in BASELINES.items()]


def _ratio(measured: Measured, step: Step, baseline: Baseline) -> Ratio:
    pulumi, kubectl = _median(measured.samples[step]), _median(measured.samples[baseline])
    return Ratio(
        tenants=measured.tenants,
        objects=measured.objects,
        step=step,
        baseline=baseline,
        runs=len(measured.samples[step]),
        pulumi_seconds=pulumi.seconds,
        kubectl_seconds=kubectl.seconds,
        time=pulumi.seconds / kubectl.seconds,
        pulumi_mib=pulumi.peak_mib,
        kubectl_mib=kubectl.peak_mib,
        memory=pulumi.peak_mib / kubectl.peak_mib,
    )


def _median(samples: Sequence[Sample]) -> Sample:
    return Sample(median(sample.seconds for sample in samples), median(sample.peak_mib for sample in samples))
