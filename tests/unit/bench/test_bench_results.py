"""Ratios follow from medians, each step against its own baseline."""

from __future__ import annotations

import pytest
from sample_measurements import measured

from bench.results import Baseline, Step, ratios


def test_a_ratio_divides_the_medians() -> None:
    preview = next(ratio for ratio in ratios([measured(10)]) if ratio.step is Step.PREVIEW)
    assert (preview.tenants, preview.objects, preview.runs) == (10, 50, 3)
    assert (preview.pulumi_seconds, preview.kubectl_seconds, preview.time) == (4.0, 1.0, 4.0)
    assert (preview.pulumi_mib, preview.kubectl_mib, preview.memory) == (200.0, 40.0, 5.0)


@pytest.mark.parametrize(
    ("step", "baseline"),
    [
        (Step.PREVIEW, Baseline.DIFF),
        (Step.FIRST_UP, Baseline.APPLY),
        (Step.NO_CHANGE_UP, Baseline.DIFF),
        (Step.DESTROY, Baseline.DELETE),
    ],
)
def test_each_step_has_its_baseline(step: Step, baseline: Baseline) -> None:
    ratio = next(ratio for ratio in ratios([measured(1)]) if ratio.step is step)
    assert ratio.baseline is baseline


def test_every_number_of_tenants_has_every_step() -> None:
    found = [(ratio.tenants, ratio.step) for ratio in ratios([measured(1), measured(100)])]
    assert found == [(tenants, step) for tenants in (1, 100) for step in Step]
