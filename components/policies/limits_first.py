"""Admission that keeps a namespace that a tenant has made empty until its limits are in it.

Capsule makes the limits and the tenant's rights at the same time, and repeats what fails. Without this, a tenant could
use a namespace whose network policy or quota is late, or cannot be written at all. It is Kubernetes' own admission in
every stack, since only that can look for other objects without a webhook.

Who asks makes no difference: where there is no parameter, the API server denies before it evaluates any condition. So
this is about what tenants create, without what Kubernetes itself creates in each namespace.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#parameter-resources
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from components.cluster.manifests import Manifest
from components.policies.policy import Resources, tenant_resources
from components.policies.rendering import OBJECT_PREFIX, TENANT_NAMESPACES
from components.tenant.capsule_names import SELF_MADE

_API = "admissionregistration.k8s.io/v1"
# API version, kind and plural of what every namespace of a tenant has.
_LIMITS = (("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"), ("v1", "ResourceQuota", "resourcequotas"))
# The certificate of the API server and the account `default`.
_BY_KUBERNETES = ("configmaps", "serviceaccounts")


def limits_first() -> list[Manifest]:
    """A policy with its binding for each kind of limits that has to exist first."""
    return [manifest for limit in _LIMITS for manifest in _policy(*limit)]


def _policy(api_version: str, kind: str, plural: str) -> Iterator[Manifest]:
    name = f"{OBJECT_PREFIX}limits-first-{plural}"
    yield {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": api_version, "kind": kind},
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": dict(SELF_MADE)},
                "resourceRules": [each.rule("Namespaced") for each in _created()],
            },
            # Any of the platform's is enough; the binding denies where there is none.
            "validations": [{"expression": "params != null", "message": f"the namespace has no {kind} yet"}],
        },
    }
    yield {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "paramRef": {"selector": TENANT_NAMESPACES, "parameterNotFoundAction": "Deny"},
            "validationActions": ["Deny"],
        },
    }


def _created() -> Iterator[Resources]:
    for each in tenant_resources(("CREATE",)):
        yield replace(each, names=tuple(name for name in each.names if name not in _BY_KUBERNETES))
