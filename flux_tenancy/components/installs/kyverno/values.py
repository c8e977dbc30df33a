"""The values of Kyverno's chart: its lockdown, and its size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.installs.kyverno.config import STANDBY_REPLICAS, KyvernoConfig, KyvernoController
from flux_tenancy.components.installs.kyverno.objects import WEBHOOK_ANNOTATIONS

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest

# Kinds that the chart excludes from every policy, but that contain what policies restrict: a pod template, and the name
# of a pod's node.
CHECKED_KINDS = ("[ReplicaSet,*,*]", "[ReplicaSet/?*,*,*]", "[Binding,*,*]", "[Pod/binding,*,*]")

# How long a terminating pod keeps serving, until the API server's node no longer has it as an endpoint.
DRAIN_SECONDS = 5

# A new pod answers and reports ready before it has compiled the policies, and until then admits what they refuse: up to
# 1.4 s in the lab. So it gets no requests until it has answered for ten seconds; for a pod that stops answering, the
# chart's minute stays.
READINESS = {"periodSeconds": 5, "successThreshold": 3, "failureThreshold": 12}

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


def helm_values(
    config: KyvernoConfig, background_rules: Sequence[Manifest] = (), further_kinds: bool = False
) -> dict[str, Any]:
    """The values of the chart.

    Args:
        config: the `kyverno` section of the stack.
        background_rules: RBAC rules for what the platform's policies generate and mutate in the background; the
            background controller gets these instead of the chart's broad defaults.
        further_kinds: whether the stack installs further kinds, which Kyverno would otherwise refuse in namespaces of
            tenants until it reads again what kinds the cluster has, after up to 15 minutes.

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
        # them all (components/installs/kyverno/objects.py).
        "webhooksCleanup": {"enabled": False},
        "cleanupController": {"enabled": False},
        "admissionController": {
            **_replicas(config.replicas),
            **({"crdWatcher": True} if further_kinds else {}),
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
    """Replicas, one of which survives a node drain; the chart prefers to place them on different nodes."""
    return {"replicas": replicas, "podDisruptionBudget": {"enabled": replicas > 1}}


def _resources(config: KyvernoConfig, controller: KyvernoController) -> dict[str, Any]:
    resources = config.resources.get(controller)
    return {"resources": resources.model_dump(exclude_defaults=True)} if resources is not None else {}
