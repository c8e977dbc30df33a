"""Whether Kyverno really answers: its certificate in place, its webhook asked, its answer obeyed."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from components.cluster.manifests import Manifest
from components.cluster.waiting import NotReady, wait_for

POLICY_API = "policies.kyverno.io/v1"
POLICIES_PATH = f"/apis/{POLICY_API}/validatingpolicies"

# Kyverno's webhook for policies, as the API server names it when it has denied a request.
# Source: PolicyValidatingWebhookName in pkg/config/config.go of Kyverno 1.19.
DENIAL = 'admission webhook "validate-policy.kyverno.svc" denied the request'

TIMEOUT_SECONDS = 120.0


class NotServing(NotReady):
    """Kyverno runs and does not answer as it should."""


def probe(expression: str) -> Manifest:
    """A policy that nothing matches; it is never created."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    spec: dict[str, Any] = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": "never seen"}],
    }
    metadata = {"name": "flux-tenancy-serving"}
    return {"apiVersion": POLICY_API, "kind": "ValidatingPolicy", "metadata": metadata, "spec": spec}


GOOD_PROBE = probe("true")
# No expression of CEL, which Kyverno alone finds out.
BROKEN_PROBE = probe("object.")


def wait_until_serving(
    refusal: Callable[[Manifest], str | None],
    timeout_seconds: float = TIMEOUT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until Kyverno refuses a broken policy and lets a good one pass.

    The pods are ready before their webhooks are registered and before the API server has heard of these.

    Args:
        refusal: says why the cluster would not create an object, or None where it would.
        timeout_seconds: how long that may take.
        clock: seconds that only grow.
        sleep: waits for a number of seconds.

    Raises:
        NotServing: it has not come to that in time.
    """
    if reason := wait_for(partial(_not_serving, refusal), timeout_seconds, clock, sleep):
        raise NotServing(
            f"Kyverno does not serve {timeout_seconds:.0f} s after it was installed: {reason}; look at "
            "`kubectl get pods -n kyverno` and `kubectl logs -n kyverno deploy/kyverno-admission-controller`"
        )


def _not_serving(refusal: Callable[[Manifest], str | None]) -> str | None:
    broken = refusal(BROKEN_PROBE)
    if broken is None:
        return "a broken policy is not refused"
    if DENIAL not in broken:
        return f"a broken policy is refused for another reason: {broken}"
    good = refusal(GOOD_PROBE)
    return f"a good policy is refused: {good}" if good is not None else None
