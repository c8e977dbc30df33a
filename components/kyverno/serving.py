"""Whether Kyverno really serves: its certificate is valid, and the API server calls its webhook and obeys it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from components.cluster.manifests import Manifest
from components.cluster.waiting import NotReady, wait_for
from components.kyverno.wordings import NOT_SERVING

POLICY_API = "policies.kyverno.io/v1"
POLICIES_PATH = f"/apis/{POLICY_API}/validatingpolicies"

# Kyverno's webhook for policies, as the API server names it when it has denied a request.
# Source: PolicyValidatingWebhookName in pkg/config/config.go of Kyverno 1.19.
DENIAL = 'admission webhook "validate-policy.kyverno.svc" denied the request'

TIMEOUT_SECONDS = 120.0


class NotServing(NotReady):
    """Kyverno is installed but does not serve."""


def probe(expression: str) -> Manifest:
    """A policy for dry runs; it is never created."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    spec: dict[str, Any] = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": "never seen"}],
    }
    metadata = {"name": "flux-tenancy-serving"}
    return {"apiVersion": POLICY_API, "kind": "ValidatingPolicy", "metadata": metadata, "spec": spec}


GOOD_PROBE = probe("true")
# Not a valid CEL expression, which only Kyverno finds out.
BROKEN_PROBE = probe("object.")


def wait_until_serving(
    refusal: Callable[[Manifest], str | None],
    timeout_seconds: float = TIMEOUT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until Kyverno refuses a broken policy and admits a good one.

    Its pods become ready before its webhooks are registered, and before the API server knows these.

    Args:
        refusal: returns why the cluster would refuse to create an object, or None.
        timeout_seconds: how long to wait.
        clock: monotonic time in seconds.
        sleep: waits for a number of seconds.

    Raises:
        NotServing: it does not serve within that time.
    """
    if reason := wait_for(partial(_not_serving, refusal), timeout_seconds, clock, sleep):
        raise NotServing(NOT_SERVING(seconds=timeout_seconds, reason=reason))


def _not_serving(refusal: Callable[[Manifest], str | None]) -> str | None:
    broken = refusal(BROKEN_PROBE)
    if broken is None:
        return "a broken policy is not refused"
    if DENIAL not in broken:
        return f"a broken policy is refused for another reason: {broken}"
    good = refusal(GOOD_PROBE)
    return f"a good policy is refused: {good}" if good is not None else None
