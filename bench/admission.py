"""The latency that admission adds: a tenant's requests under each engine, in turns on one cluster."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain

from bench.latencies import ENGINES, Request
from bench.rig import Rig
from bench.tenant_client import TenantClient
from bench.tenant_requests import OUTSIDE, Target, Verb, forbidden, targets
from components.policies.config import PolicyEngine
from lab.errors import LabError
from operations.admission_answers import objections

WARM_UP = 30
"""Rounds before each measurement that do not count: caches, the connection, policies compiled when first used."""

_IN_FORCE_SECONDS = 60.0
_POLL_SECONDS = 0.2
# Kyverno is asked only where the native policies agree.
_REFUSING = {
    PolicyEngine.NONE: None,
    PolicyEngine.NATIVE: PolicyEngine.NATIVE,
    PolicyEngine.KYVERNO: PolicyEngine.KYVERNO,
    PolicyEngine.BOTH: PolicyEngine.NATIVE,
}

Told = Callable[[PolicyEngine], None]
"""Told of each engine that is measured next."""


def measure_admission(
    rig: Rig, requests: int, told: Told, engines: Sequence[PolicyEngine] = ENGINES
) -> dict[tuple[PolicyEngine, Request], list[float]]:
    """Seconds of each kind of request under each engine.

    Each engine is measured twice, in one order and then in the other, so that what grows or warms up meanwhile counts
    for all of them.

    Args:
        rig: the cluster.
        requests: how many of each kind under each engine.
        told: is told what comes next.
        engines: what to measure.

    Raises:
        LabError: a command failed, a request was refused, or an engine does not refuse what it must.
    """
    tenant = rig.workload.set_one_tenant()
    rig.let_in(tenant, OUTSIDE)
    samples: dict[tuple[PolicyEngine, Request], list[float]] = defaultdict(list)
    halves = (requests // 2, requests - requests // 2)
    for engine, count in chain(((each, halves[0]) for each in engines), ((each, halves[1]) for each in engines[::-1])):
        told(engine)
        rig.use_engine(engine)
        with TenantClient(rig.kubeconfig, rig.token(tenant)) as client:
            _await(client, tenant, engine)
            _rounds(client, targets(tenant), WARM_UP)
            for request, seconds in _rounds(client, targets(tenant), count).items():
                samples[engine, request] += seconds
    return dict(samples)


def _rounds(client: TenantClient, among: Sequence[Target], count: int) -> dict[Request, list[float]]:
    """Objects of each kind come, change and go, the kinds in turns."""
    samples: dict[Request, list[float]] = defaultdict(list)
    for number in range(count):
        for verb in Verb:
            for target in among:
                seconds = client.timed(*target.request(verb, f"bench-{number}"))
                samples[Request(verb, target.name)].append(seconds)
    return samples


def _await(client: TenantClient, tenant: str, engine: PolicyEngine) -> None:
    """Wait until the engine, and no other, refuses what it must: anything else would be measured under a wrong name."""
    deadline = time.monotonic() + _IN_FORCE_SECONDS
    wanted = {_REFUSING[engine]} - {None}
    while (found := {each.engine for each in objections(client.ask(*forbidden(tenant)))}) != wanted:
        if time.monotonic() > deadline:
            raise LabError(
                f"with the engine {engine}, a Service of type NodePort is refused by {', '.join(found) or 'nobody'}",
                "see whether `pulumi up` puts the policies into force",
            )
        time.sleep(_POLL_SECONDS)
