"""What the chart is told: how Kyverno is locked down, and how large it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from components.cluster.manifests import Manifest
from components.kyverno.config import STANDBY_REPLICAS, KyvernoConfig, KyvernoController
from components.kyverno.objects import WEBHOOK_ANNOTATIONS

# Kinds that the chart keeps from every policy, but that carry what tenants may not: a pod template of its own, and the
# name of a pod's node.
CHECKED_KINDS = ("[ReplicaSet,*,*]", "[ReplicaSet/?*,*,*]", "[Binding,*,*]", "[Pod/binding,*,*]")

# How long a pod that ends serves on, until the API server's node has heard that it is no endpoint any more.
DRAIN_SECONDS = 5

# A new pod answers, and calls itself ready, before it has compiled the policies, and until then lets pass what they
# refuse: up to 1.4 s in the lab. So no request is sent to it until it has answered for ten seconds; one that ceases to
# answer keeps the chart's minute.
READINESS = {"periodSeconds": 5, "successThreshold": 3, "failureThreshold": 12}

# What the background controller may do in any case, for a list that has to say nothing. Pulumi's Release leaves an
# empty one out, and the chart would put its own in place: rights to write quotas, network policies, role bindings.
_NO_MORE_RULES: tuple[Manifest, ...] = ({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},)

_FEATURES_OF_REPORTS = (
    "admissionReports",
    "aggregateReports",
    "backgroundScan",
    "policyReports",
    "validatingAdmissionPolicyReports",
)


def helm_values(config: KyvernoConfig, background_rules: Sequence[Manifest] = ()) -> dict[str, Any]:
    """The values of the chart.

    Args:
        config: the `kyverno` section of the stack.
        background_rules: RBAC rules for what policies of the platform generate and mutate in the background; the
            background controller gets these, and none of those that the chart would give it on suspicion.

    Source: charts/kyverno/values.yaml of Kyverno 1.19.
    """
    return {
        "features": {
            # Who may write an exception may do what the policy refuses.
            "policyExceptions": {"enabled": False},
            # Each policy decides by its own failurePolicy, and those of the platform fail closed.
            "forceFailurePolicyIgnore": {"enabled": False},
            **{feature: {"enabled": config.reports} for feature in _FEATURES_OF_REPORTS},
        },
        # Else whoever is admin of a namespace, as a tenant may be, could write policies and exceptions there.
        "rbac": {"roles": {"aggregate": {"admin": False, "view": False}}},
        "config": {
            # Its settings are the chart's; one that outlives the chart would be taken over by the next.
            "preserve": False,
            "resourceFiltersExclude": list(CHECKED_KINDS),
            "webhookAnnotations": WEBHOOK_ANNOTATIONS,
        },
        # The hook scales Kyverno to zero without waiting for it, and forgets the validating webhooks; the stack removes
        # them all (components/kyverno/objects.py).
        "webhooksCleanup": {"enabled": False},
        "cleanupController": {"enabled": False},
        "admissionController": {
            **_replicas(config.replicas),
            "readinessProbe": READINESS,
            "container": _resources(config, KyvernoController.ADMISSION)
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
    """Copies, of which a drain of nodes leaves one; the chart keeps them on different nodes where it can."""
    return {"replicas": replicas, "podDisruptionBudget": {"enabled": replicas > 1}}


def _resources(config: KyvernoConfig, controller: KyvernoController) -> dict[str, Any]:
    resources = config.resources.get(controller)
    return {"resources": resources.model_dump(exclude_defaults=True)} if resources is not None else {}
