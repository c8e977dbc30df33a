"""The latency that admission adds: a tenant's requests under each engine, in turns on one cluster."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import quantiles
from typing import Any

from bench.report import Results
from bench.rig import Rig
from bench.tenant_client import TenantClient
from bench.tenant_requests import OUTSIDE, VERBS, Target, forbidden, targets
from bench.workload import repositories
from components.policies.config import PolicyEngine
from lab.errors import LabError
from operations.admission_answers import objections

BASELINE = PolicyEngine.NONE
"""What each engine is compared with: the same requests to the same cluster without policies."""

# The API server evaluates native policies first, so Kyverno sees only what they allow.
_REFUSING_ENGINE = {
    PolicyEngine.NONE: None,
    PolicyEngine.NATIVE: PolicyEngine.NATIVE,
    PolicyEngine.KYVERNO: PolicyEngine.KYVERNO,
    PolicyEngine.BOTH: PolicyEngine.NATIVE,
}
ENGINES = tuple(_REFUSING_ENGINE)

WARM_UP = 30
"""Rounds before each measurement that do not count: caches, the connection, policies compiled at their first use."""

NOTES = (
    "A tenant's service account sends the requests with its own token, one after the other on one connection that is "
    "kept alive; measured at the client, from the request to the last byte of the response. All requests are granted.",
    "The same cluster and stack under each engine, switched by `pulumi up`; Kyverno runs only under `kyverno` and "
    "`both`. Each engine is measured twice, in one order and then in reverse, and the kinds of requests in turns. "
    "Requests for warming up do not count.",
    "× is the figure divided by that of the same request under the engine `none`. `ConfigMap, no policy` is in a "
    "namespace that belongs to no tenant: the deviation of its × from 1.0 is the error of the measurement.",
    "Flux's controllers are scaled to zero, and the Deployment is paused: there are no other requests meanwhile.",
)

_COLUMNS = {
    "request": "", "engine": "", "requests": "d", "p50 ms": ".1f", "p50 ×": ".2f", "p99 ms": ".1f", "p99 ×": ".2f",
}  # fmt: skip
_TIMEOUT_SECONDS = 60.0
_POLL_SECONDS = 0.2

Samples = Mapping[tuple[PolicyEngine, str], Sequence[float]]
"""Seconds of each request by engine and kind (`create ConfigMap`), in the order in which they were taken."""


def measure_admission(
    rig: Rig, requests: int, say: Callable[[str], None], engines: Sequence[PolicyEngine] = ENGINES
) -> Samples:
    """Seconds of each kind of request under each engine.

    Each engine is measured twice, in one order and then in reverse, so that what grows or warms up meanwhile affects
    all of them.

    Args:
        requests: number of requests of each kind under each engine.
        say: receives a line of text before each measurement.
        engines: the engines to measure.

    Raises:
        LabError: a command failed, a request was refused, or an engine does not refuse what it has to.
    """
    [tenant] = tenants = repositories(1)
    rig.workload.set_tenants(tenants)
    rig.let_in(tenant, OUTSIDE)
    samples: dict[tuple[PolicyEngine, str], list[float]] = defaultdict(list)
    half = requests // 2
    for engine, count in [(each, half) for each in engines] + [(each, requests - half) for each in engines[::-1]]:
        say(f"Measuring with the engine {engine}")
        rig.use_engine(engine)
        with TenantClient(rig.kubeconfig, rig.token(tenant)) as client:
            _wait_for(engine, client, tenant)
            _rounds(client, targets(tenant), WARM_UP)
            for request, seconds in _rounds(client, targets(tenant), count).items():
                samples[engine, request] += seconds
    return samples


def results(samples: Samples) -> Results:
    """Every kind of request under every engine that was measured, compared with that without policies."""
    requests = dict.fromkeys(request for _, request in samples)
    rows = [
        _row(samples, request, engine) for request in requests for engine in ENGINES if (engine, request) in samples
    ]
    raw = [{"engine": engine, "request": request, "seconds": seconds} for (engine, request), seconds in samples.items()]
    return Results("admission", "Latency that admission adds", _COLUMNS, rows, NOTES, raw)


def _rounds(client: TenantClient, kinds: Sequence[Target], count: int) -> Mapping[str, list[float]]:
    """Create, update and delete objects of each kind, the kinds in turns."""
    samples: dict[str, list[float]] = defaultdict(list)
    for number in range(count):
        for verb in VERBS:
            for kind in kinds:
                samples[f"{verb} {kind.name}"].append(client.timed(*kind.request(verb, f"bench-{number}")))
    return samples


def _wait_for(engine: PolicyEngine, client: TenantClient, tenant: str) -> None:
    """Wait until the engine, and no other, refuses what it has to, so that each figure is that of its engine."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    wanted = {_REFUSING_ENGINE[engine]} - {None}
    while (found := {each.engine for each in objections(client.ask(*forbidden(tenant)))}) != wanted:
        if time.monotonic() > deadline:
            raise LabError(
                f"with {engine}, a Service of type NodePort is refused by {', '.join(found) or 'no engine'}",
                "check whether `pulumi up` enforces the policies",
            )
        time.sleep(_POLL_SECONDS)


def _row(samples: Samples, request: str, engine: PolicyEngine) -> dict[str, Any]:
    p50, p99 = _percentiles(samples[engine, request])
    base_p50, base_p99 = _percentiles(samples[BASELINE, request])
    values = (request, engine, len(samples[engine, request]), p50, p50 / base_p50, p99, p99 / base_p99)
    return dict(zip(_COLUMNS, values, strict=True))


def _percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p99 in milliseconds."""
    cuts = quantiles(seconds, n=100, method="inclusive")
    return cuts[49] * 1000, cuts[98] * 1000
