"""Made-up measurements with figures that are easy to divide."""

from __future__ import annotations

from bench.measure import Sample
from bench.results import Baseline, Measured, Step

MACHINE = {
    "cores": 2,
    "memory_mib": 24000,
    "load": 0.25,
    "system": "Linux 6.1 x86_64",
    "versions": {"pulumi": "v3.259.0", "kubectl": "1.37.1"},
}


def measured(tenants: int) -> Measured:
    """Pulumi's preview is three samples; everything else is one, ten times as much as kubectl's."""
    return Measured(
        tenants,
        tenants * 5,
        {
            Step.PREVIEW: [Sample(9.0, 300.0), Sample(3.0, 100.0), Sample(4.0, 200.0)],
            Step.FIRST_UP: [Sample(20.0, 500.0)],
            Step.NO_CHANGE_UP: [Sample(10.0, 400.0)],
            Step.DESTROY: [Sample(30.0, 600.0)],
            Baseline.APPLY: [Sample(2.0, 50.0)],
            Baseline.DIFF: [Sample(1.0, 40.0)],
            Baseline.DELETE: [Sample(3.0, 60.0)],
        },
    )
