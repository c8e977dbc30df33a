"""Latencies of requests as plain data, and how much of them is admission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles

from bench.tenant_requests import Verb
from components.policies.config import PolicyEngine

BASELINE = PolicyEngine.NONE
"""What each engine is held against: the same requests to the same cluster without policies."""

ENGINES = (PolicyEngine.NONE, PolicyEngine.NATIVE, PolicyEngine.KYVERNO, PolicyEngine.BOTH)


@dataclass(frozen=True)
class Request:
    """A kind of request.

    Attributes:
        verb: what is done.
        target: to what kind of object, e.g. `Kustomization`.
    """

    verb: Verb
    target: str

    def __str__(self) -> str:
        return f"{self.verb} {self.target}"


Samples = Mapping[tuple[PolicyEngine, Request], Sequence[float]]
"""Seconds of each request, in the order in which they were taken."""


@dataclass(frozen=True)
class Latency:
    """A kind of request under one engine; milliseconds.

    Attributes:
        requests: how many.
        p50: median.
        p99: what one of a hundred takes longer than.
        p50_ratio: p50 divided by that without policies.
        p99_ratio: p99 divided by that without policies.
    """

    request: Request
    engine: PolicyEngine
    requests: int
    p50: float
    p99: float
    p50_ratio: float
    p99_ratio: float


def latencies(samples: Samples) -> list[Latency]:
    """Every kind of request under every engine that was measured, together with that without policies."""
    requests = list(dict.fromkeys(request for _, request in samples))
    engines = [engine for engine in ENGINES if any(engine is of for of, _ in samples)]
    return [_latency(samples, request, engine) for request in requests for engine in engines]


def _latency(samples: Samples, request: Request, engine: PolicyEngine) -> Latency:
    taken = samples[engine, request]
    p50, p99 = _percentiles(taken)
    p50_without, p99_without = _percentiles(samples[BASELINE, request])
    return Latency(request, engine, len(taken), p50, p99, p50 / p50_without, p99 / p99_without)


def _percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    cuts = quantiles(seconds, n=100, method="inclusive")
    return cuts[49] * 1000, cuts[98] * 1000
