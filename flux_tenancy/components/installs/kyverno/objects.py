"""Kyverno's chart and its values, the objects around it, and the dry runs that show whether Kyverno really serves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.installs.chart import Chart, PinnedChart, read_chart
from flux_tenancy.components.installs.kyverno.config import KYVERNO, STANDBY_REPLICAS, KyvernoConfig, KyvernoController
from flux_tenancy.components.installs.serving import DryRun, DryRuns, until_serving
from flux_tenancy.components.plan import BACKGROUND, OWNERSHIP

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
    until_serving,
    _DRY_RUNS,
    Wording(
        "FT-KYV-007",
        "Kyverno is not ready {seconds:.0f} s after it was installed or changed: {reason}",
        "check `kubectl get pods -n kyverno` and `kubectl logs -n kyverno deploy/kyverno-admission-controller`, or the "
        "webhook of another product if the message names one",
    ),
)
"""Waits until Kyverno refuses a broken policy and admits a good one."""


# Kinds that the chart excludes from every policy, but that contain what policies restrict: a pod template, and the name
# of a pod's node.
CHECKED_KINDS = ("[ReplicaSet,*,*]", "[ReplicaSet/?*,*,*]", "[Binding,*,*]", "[Pod/binding,*,*]")

# How long a terminating pod keeps serving, until the API server's node no longer has it as an endpoint.
DRAIN_SECONDS = 5

# A new pod answers and reports ready before it has compiled the policies, and until then admits what they refuse: up to
# 1.4 s in the lab. So it gets no requests until it has answered for ten seconds; for a pod that stops answering, the
# chart's minute stays.
READINESS = {"periodSeconds": 5, "successThreshold": 3, "failureThreshold": 12}

# Memory of the admission controller with all policies of the platform, in MiB: without requests, and for each request
# about an object of one MiB; and how many such requests it must take at the same time. With 50 pods of 128 KiB each, it
# had 549 MiB. Source: dev/docs/measurements.md#what-the-largest-pods-cost-kyverno
_IDLE_MIB, _MIB_PER_REQUEST = 264, 48
_PARALLEL_REQUESTS = 50

# A harmless rule for a list that must not be empty: Pulumi's Release drops an empty list, and the chart would use its
# default, which grants writing quotas, network policies and role bindings.
_NO_MORE_RULES: tuple[Manifest, ...] = ({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},)

_FEATURES_OF_REPORTS = (
    "admissionReports",
    "aggregateReports",
    "backgroundScan",
    "policyReports",
    "validatingAdmissionPolicyReports",
)


def admission_memory(largest_object: int) -> str:
    """The memory limit of the admission controller, as a quantity.

    Args:
        largest_object: size in KiB of the largest object that it is sent.
    """
    return f"{_IDLE_MIB + math.ceil(_PARALLEL_REQUESTS * _MIB_PER_REQUEST * largest_object / 1024)}Mi"


def helm_values(
    config: KyvernoConfig,
    background_rules: Sequence[Manifest] = (),
    further_kinds: bool = False,
    largest_object: int | None = None,
) -> dict[str, Any]:
    """The values of the chart.

    Args:
        background_rules: RBAC rules for what the platform's policies generate and mutate in the background; the
            background controller gets these instead of the chart's broad defaults.
        further_kinds: whether the stack installs further kinds, which Kyverno would otherwise refuse in namespaces of
            tenants until it reads again what kinds the cluster has, after up to 15 minutes.
        largest_object: size in KiB of the largest pod that tenants may create; None keeps the chart's memory limit.

    Source: charts/kyverno/values.yaml of Kyverno 1.19.
    """
    return {
        "features": {
            # Whoever can create an exception can bypass the policy.
            "policyExceptions": {"enabled": False},
            # Each policy has its own failurePolicy; the platform's policies fail closed.
            "forceFailurePolicyIgnore": {"enabled": False},
            **{feature: {"enabled": config.reports} for feature in _FEATURES_OF_REPORTS},
        },
        # Otherwise an admin of a namespace, which a tenant may be, could write policies and exceptions there.
        "rbac": {"roles": {"aggregate": {"admin": False, "view": False}}},
        "config": {
            # A ConfigMap that outlives the chart would be taken over by the next installation.
            "preserve": False,
            "resourceFiltersExclude": list(CHECKED_KINDS),
            "webhookAnnotations": WEBHOOK_ANNOTATIONS,
        },
        # The hook scales Kyverno to zero without waiting for it, and forgets the validating webhooks; the stack removes
        # them all (`webhook_configurations`).
        "webhooksCleanup": {"enabled": False},
        "cleanupController": {"enabled": False},
        "admissionController": {
            **_replicas(config.replicas),
            **({"crdWatcher": True} if further_kinds else {}),
            "readinessProbe": READINESS,
            "container": _resources(config, KyvernoController.ADMISSION, largest_object)
            | {"lifecycle": {"preStop": {"sleep": {"seconds": DRAIN_SECONDS}}}},
        },
        "backgroundController": {
            **_replicas(_standby(config)),
            **_resources(config, KyvernoController.BACKGROUND),
            "rbac": {
                "coreClusterRole": {"extraResources": list(_NO_MORE_RULES)},
                "clusterRole": {"extraResources": list(background_rules)},
            },
        },
        "reportsController": {
            "enabled": config.reports,
            **_replicas(_standby(config)),
            **_resources(config, KyvernoController.REPORTS),
        },
    }


def _standby(config: KyvernoConfig) -> int:
    return min(config.replicas, STANDBY_REPLICAS)


def _replicas(replicas: int) -> dict[str, Any]:
    """Replicas, one of which survives a node drain; the chart prefers to place them on different nodes."""
    return {"replicas": replicas, "podDisruptionBudget": {"enabled": replicas > 1}}


def _resources(
    config: KyvernoConfig, controller: KyvernoController, largest_object: int | None = None
) -> dict[str, Any]:
    given = config.resources[controller].model_dump(exclude_defaults=True) if controller in config.resources else {}
    if largest_object is not None:
        given["limits"] = {"memory": admission_memory(largest_object)} | given.get("limits", {})
    return {"resources": given} if given else {}
