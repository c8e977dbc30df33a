"""The objects around Kyverno's chart: its namespace, and the webhook configurations that Kyverno fills in."""

from __future__ import annotations

from components.plan.registration import BACKGROUND, OWNERSHIP
from components.vocabulary.manifests import Manifest

NAMESPACE = "kyverno"

# Kyverno's label on each of its webhook configurations.
# Source: LabelWebhookManagedBy in api/kyverno/constants.go of Kyverno 1.19.
MANAGED_BY_LABEL = "webhook.kyverno.io/managed-by"
MANAGED_BY = {MANAGED_BY_LABEL: "kyverno"}

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
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}


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
