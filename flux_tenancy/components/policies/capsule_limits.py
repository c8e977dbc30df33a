"""Admission that keeps a namespace that a tenant has made empty until all of its limits are in it.

Capsule makes the limits and the tenant's rights at the same time, and repeats what fails. Without this, a tenant could
use a namespace whose network policy or quota is late, or cannot be written at all. It is Kubernetes' own admission in
every stack, since only that can look for other objects without a webhook.

Who asks makes no difference: where there is no parameter, the API server denies before it evaluates any condition. So
this is about what tenants create, without what Kubernetes itself creates in each namespace.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#parameter-resources
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import text
from flux_tenancy.components.policies.policy import Resources, tenant_resources
from flux_tenancy.components.policies.rendering import OBJECT_PREFIX, TENANT_NAMESPACES
from flux_tenancy.components.policies.request import TENANT
from flux_tenancy.components.tenant.capsule.names import LIMIT_LABEL, SELF_MADE
from flux_tenancy.components.tenant.capsule.objects import required_limits
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.tenancy_config import TenancyConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

_API = "admissionregistration.k8s.io/v1"
_PLURALS = {"LimitRange": "limitranges", "NetworkPolicy": "networkpolicies", "ResourceQuota": "resourcequotas"}
# The certificate of the API server and the account `default`.
_BY_KUBERNETES = (("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default"))


def limits_first(tenancy: TenancyConfig) -> list[Manifest]:
    """A policy for each kind of limits, with a binding for each limit that has to exist first."""
    limits = required_limits(tenancy)
    kinds = dict.fromkeys((api_version, kind) for api_version, kind, _ in limits)
    bindings = [_binding(kind, limit) for _, kind, limit in limits]
    return [*(_policy(api_version, kind) for api_version, kind in kinds), *bindings]


def _name(kind: str) -> str:
    return f"{OBJECT_PREFIX}limits-first-{_PLURALS[kind]}"


def _policy(api_version: str, kind: str) -> Manifest:
    own = f"params.metadata.labels[{text(TENANT_LABEL)}] == {TENANT}"
    return {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": _name(kind)},
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": api_version, "kind": kind},
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": dict(SELF_MADE)},
                "resourceRules": [each.rule("Namespaced") for each in tenant_resources(("CREATE",))],
                "excludeResourceRules": list(_by_kubernetes()),
            },
            # A binding denies where its limit is missing.
            "validations": [{"expression": own, "message": f"the {kind} of this namespace belongs to another tenant"}],
        },
    }


def _binding(kind: str, limit: str) -> Manifest:
    return {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"{OBJECT_PREFIX}limits-first-{limit}"},
        "spec": {
            "policyName": _name(kind),
            "paramRef": {
                "selector": {"matchLabels": {LIMIT_LABEL: limit}, **TENANT_NAMESPACES},
                "parameterNotFoundAction": "Deny",
            },
            "validationActions": ["Deny"],
        },
    }


def _by_kubernetes() -> Iterable[Manifest]:
    for resource, name in _BY_KUBERNETES:
        yield Resources("", (resource,), ("CREATE",)).rule("Namespaced") | {"resourceNames": [name]}
