"""The dry runs that show whether Kyverno really serves."""

from __future__ import annotations

from functools import partial
from typing import Any

from components.charts import serving
from components.charts.serving import DryRun, DryRuns
from components.config.messages import Wording
from components.vocabulary.manifests import Manifest

POLICY_API = "policies.kyverno.io/v1"
POLICIES_PATH = f"/apis/{POLICY_API}/validatingpolicies"

# Kyverno's webhook for policies, as the API server names it when it has denied a request.
# Source: PolicyValidatingWebhookName in pkg/config/config.go of Kyverno 1.19.
DENIAL = 'admission webhook "validate-policy.kyverno.svc" denied the request'


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

_DRY_RUNS = DryRuns(DryRun(BROKEN_PROBE, "a broken policy"), (DENIAL,), DryRun(GOOD_PROBE, "a good policy"))

wait_until_serving = partial(
    serving.wait_until_serving,
    _DRY_RUNS,
    Wording(
        "FT-KYV-007",
        "Kyverno does not serve {seconds:.0f} s after it was installed: {reason}",
        "check `kubectl get pods -n kyverno` and `kubectl logs -n kyverno deploy/kyverno-admission-controller`",
    ),
)
"""Waits until Kyverno refuses a broken policy and admits a good one."""
