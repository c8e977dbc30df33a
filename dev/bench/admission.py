"""The latency that admission adds: a tenant's requests under each engine, in turns on one cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import quantiles

from dev.bench.measure import checked
from dev.bench.report import Results
from dev.bench.rig import Rig, repositories
from dev.bench.tenant_client import TenantClient
from dev.bench.tenant_requests import IMAGES, OUTSIDE, SOURCES, VERBS, Target, forbidden, targets
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.operations.admission.answers import objections
from tests.support.lab import eventually

BASELINE = PolicyEngine.NONE
"""What each engine is compared with: the same requests to the same cluster without policies."""

ENGINES = (BASELINE, PolicyEngine.NATIVE, PolicyEngine.KYVERNO, PolicyEngine.BOTH)
# The API server evaluates native policies first, so Kyverno sees only what they allow.
_REFUSING = {BASELINE: set(), PolicyEngine.BOTH: {PolicyEngine.NATIVE}}

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

Samples = Mapping[tuple[PolicyEngine, str], Sequence[float]]
"""Seconds of each request by engine and kind (`create ConfigMap`), in the order in which they were taken."""


def measure_admission(rig: Rig, requests: int, say: Callable[[str], None]) -> Samples:
    """Seconds of a number of requests of each kind under each engine.

    Each engine is measured twice, in one order and then in reverse, so that what grows or warms up meanwhile affects
    all of them. Raises LabError if a command fails or a request is refused, and AssertionError if an engine does not
    refuse what it has to.
    """
    [tenant] = tenants = repositories(1)
    rig.configure(tenants)
    # A namespace that belongs to no tenant, which the tenant may edit.
    account = (tenant, "--clusterrole=edit", f"--serviceaccount={tenant}:{tenant}", f"--namespace={OUTSIDE}")
    checked(rig.kubectl("create", "namespace", OUTSIDE))
    checked(rig.kubectl("create", "rolebinding", *account))
    samples: dict[tuple[PolicyEngine, str], list[float]] = defaultdict(list)
    half = requests // 2
    for engine, count in [(each, half) for each in ENGINES] + [(each, requests - half) for each in ENGINES[::-1]]:
        say(f"Measuring with the engine {engine}")
        rig.configure(
            policies={"engine": engine.value, "sources": {"allowed": [SOURCES]}, "images": {"allowed": [IMAGES]}},
            kyverno=rig.kyverno if engine.kyverno else None,
        )
        rig.up()
        with TenantClient(rig.cluster.kubeconfig, rig.token(tenant)) as client:
            _wait_for(engine, client, tenant)
            _rounds(client, targets(tenant), WARM_UP)
            for request, seconds in _rounds(client, targets(tenant), count).items():
                samples[engine, request] += seconds
    return samples


def results(samples: Samples) -> Results:
    """Every kind of request under every engine that was measured, compared with that without policies."""
    rows = []
    for request in dict.fromkeys(request for _, request in samples):
        base = _percentiles(samples[BASELINE, request])
        for engine in ENGINES:
            taken = samples[engine, request]
            (p50, p99), (base_p50, base_p99) = _percentiles(taken), base
            values = (request, engine, len(taken), p50, p50 / base_p50, p99, p99 / base_p99)
            rows.append(dict(zip(_COLUMNS, values, strict=True)))
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
    wanted = _REFUSING.get(engine, {engine})

    def is_in_force() -> bool:
        return {each.engine for each in objections(client.ask(*forbidden(tenant)))} == wanted

    eventually(is_in_force, _TIMEOUT_SECONDS, f"a refusal by {', '.join(wanted) or 'nobody'} under {engine}")


def _percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p99 in milliseconds."""
    cuts = quantiles(seconds, n=100, method="inclusive")
    return cuts[49] * 1000, cuts[98] * 1000
