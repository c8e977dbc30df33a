"""The values of Capsule's chart: its lockdown, and its size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.cluster.subjects import Subject, SubjectKind
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.installs.capsule.config import CAPSULE
from flux_tenancy.components.installs.capsule.objects import NAMESPACE_DELETER

if TYPE_CHECKING:
    from flux_tenancy.components.cluster.client import Identity
    from flux_tenancy.components.installs.capsule.config import CapsuleConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

# Names that a tenant's namespace cannot have, so that it is never taken for a part of the platform.
PROTECTED_NAMESPACES = r"^(default|(kube|flux|kyverno|capsule|cert-manager|istio|openshift)(-.*)?)$"

# Nobody: owners of tenants are users by themselves. Pulumi's Release drops an empty list, and the chart would use its
# default, a group that anybody's identity provider may have.
_NO_FURTHER_USERS = ({"kind": "User", "name": "system:nobody"},)

# A service account without rights, for replications that name none: without it, Capsule writes with its own rights.
# Source: https://github.com/projectcapsule/capsule/security/advisories/GHSA-qjjm-7j9w-pw72
_ACCOUNT_WITHOUT_RIGHTS = "default"

_LABELS = {"app.kubernetes.io/name": "capsule", "app.kubernetes.io/instance": "capsule"}


def helm_values(config: CapsuleConfig, bindable_roles: Sequence[str] = ()) -> dict[str, Any]:
    """The values of the chart.

    Args:
        config: the `capsule` section of the stack.
        bindable_roles: names of the ClusterRoles that Capsule may bind in tenants' namespaces, besides its own.

    Source: charts/capsule/values.yaml of Capsule 0.14.
    """
    return {
        # The stack registers the definitions, and what its Jobs clean up (`components.installs.capsule.objects`).
        "crds": {"install": False},
        "global": {"jobs": {"postInstall": {"enabled": False}, "preDelete": {"enabled": False}}},
        # Capsule's own certificates, which it also renews.
        "tls": {"enableController": True},
        "certManager": {"generateCertificates": False},
        "replicaCount": config.replicas,
        "topologySpreadConstraints": [_spread()],
        **({"extraManifests": [_disruption_budget()]} if config.replicas > 1 else {}),
        "manager": {
            # Instead of cluster-admin.
            "rbac": {"strict": True, "bindableClusterRoles": list(bindable_roles) or [NAMESPACE_DELETER]},
            "resources": config.resources.model_dump(exclude_defaults=True) if config.resources is not None else {},
            "options": {
                "users": [dict(each) for each in _NO_FURTHER_USERS],
                "administrators": [capsule_user(each) for each in config.administrators],
                "allowServiceAccountPromotion": False,
                "protectedNamespaceRegex": PROTECTED_NAMESPACES,
                "impersonation": {
                    "tenantDefaultServiceAccount": _ACCOUNT_WITHOUT_RIGHTS,
                    "globalDefaultServiceAccount": _ACCOUNT_WITHOUT_RIGHTS,
                    "globalDefaultServiceAccountNamespace": CAPSULE.namespace,
                },
            },
        },
    }


def capsule_user(subject: Subject) -> dict[str, str]:
    """A subject as Capsule names it.

    Source: UserSpec in pkg/api/rbac of Capsule 0.14.
    """
    return {"kind": subject.kind.value, "name": username(subject)}


def username(subject: Subject) -> str:
    """The name of a user or group, as the API server knows it."""
    if subject.kind is SubjectKind.SERVICE_ACCOUNT:
        return f"system:serviceaccount:{subject.namespace}:{subject.name}"
    return subject.name


def _spread() -> Manifest:
    """Replicas on different nodes where there are several."""
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": _LABELS},
    }


def _disruption_budget() -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "capsule-controller-manager", "namespace": CAPSULE.namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": _LABELS}},
    }


def administrator_problems(config: CapsuleConfig, user: Identity, stack_file: str) -> list[Problem]:
    """A problem if Capsule would take this user for anybody.

    Args:
        config: the `capsule` section of the stack.
        user: the user that applies the stack, as the API server knows it.
        stack_file: name of the stack's file.
    """
    for each in config.administrators:
        if username(each) in (user.groups if each.kind is SubjectKind.GROUP else [user.name]):
            return []
    return [
        Problem(
            stack_file,
            "capsule.administrators",
            Message(
                "FT-CAP-008",
                f"lists neither {user.name}, who applies this stack, nor a group of this user; Capsule would "
                "refuse this user's changes of tenants' namespaces",
                "add it",
            ),
        )
    ]
