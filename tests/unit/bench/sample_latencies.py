"""Made-up latencies: from 0 to 100 ms without policies, and a multiple of that with them."""

from __future__ import annotations

from bench.latencies import ENGINES, Request, Samples
from bench.tenant_requests import Verb
from components.policies.config import PolicyEngine

CREATE, DELETE = Request(Verb.CREATE, "Kustomization"), Request(Verb.DELETE, "ConfigMap, no policy")


def samples(*engines: PolicyEngine) -> Samples:
    return {
        (engine, request): [(ENGINES.index(engine) + 1) * milliseconds / 1000 for milliseconds in range(101)]
        for request in (CREATE, DELETE)
        for engine in engines
    }
