"""Kyverno's chart, the objects around it, and the dry runs that show whether Kyverno really serves."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.installs import serving
from flux_tenancy.components.installs.chart import Chart, PinnedChart, read_chart
from flux_tenancy.components.installs.kyverno.config import KYVERNO
from flux_tenancy.components.installs.serving import DryRun, DryRuns
from flux_tenancy.components.plan.registration import BACKGROUND, OWNERSHIP
from flux_tenancy.components.vocabulary.names import POD_SECURITY_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.installs.kyverno.config import KyvernoConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest


def kyverno_chart(config: KyvernoConfig, project: Path) -> Chart:
    """The chart that the `kyverno` section pins, written into the project.

    Raises:
        PinnedInputError: it cannot be had, or is not the one (`components.installs.chart.read_chart`).
    """
    pinned = PinnedChart(config.version, config.chart.address, config.chart.bundle, config.sha256)
    return read_chart(KYVERNO, pinned, project)


# Kyverno's label on each of its webhook configurations.
# Source: LabelWebhookManagedBy in api/kyverno/constants.go of Kyverno 1.19.
WEBHOOK_LABEL = "webhook.kyverno.io/managed-by"
MANAGED_BY = {WEBHOOK_LABEL: "kyverno"}

# Source: the chart's own default for config.webhookAnnotations; without it AKS changes namespace selectors.
WEBHOOK_ANNOTATIONS = OWNERSHIP | BACKGROUND | {"admissions.enforcer/disabled": "true"}

# Source: pkg/config/config.go of Kyverno 1.19, but for those of the cleanup controller, which is not installed.
_WEBHOOK_CONFIGURATIONS = {
    "ValidatingWebhookConfiguration": (
        "kyverno-policy-validating-webhook-cfg",
        "kyverno-resource-validating-webhook-cfg",
        "kyverno-exception-validating-webhook-cfg",
        "kyverno-cel-exception-validating-webhook-cfg",
        "kyverno-global-context-validating-webhook-cfg",
    ),
    "MutatingWebhookConfiguration": (
        "kyverno-policy-mutating-webhook-cfg",
        "kyverno-resource-mutating-webhook-cfg",
        "kyverno-verify-mutating-webhook-cfg",
    ),
}


def namespace() -> Manifest:
    """Kyverno's own namespace, which enforces the strictest Pod Security Standard."""
    labels = {POD_SECURITY_LABEL: "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KYVERNO.namespace, "labels": labels}}


def webhook_configurations() -> list[Manifest]:
    """Kyverno's webhook configurations, without webhooks.

    Kyverno creates those that are missing and keeps the webhooks in them up to date. It deletes them only while it is
    scaled to zero and still has access, for which an uninstall leaves no time: with those that remain, the API server
    would call a Service that is gone, and refuse requests. Registered here, they are deleted with the stack.
    """
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name, "labels": MANAGED_BY, "annotations": WEBHOOK_ANNOTATIONS},
        }
        for kind, names in _WEBHOOK_CONFIGURATIONS.items()
        for name in names
    ]


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
        "Kyverno is not ready {seconds:.0f} s after it was installed or changed: {reason}",
        "check `kubectl get pods -n kyverno` and `kubectl logs -n kyverno deploy/kyverno-admission-controller`, or the "
        "webhook of another product if the message names one",
    ),
)
"""Waits until Kyverno refuses a broken policy and admits a good one."""
