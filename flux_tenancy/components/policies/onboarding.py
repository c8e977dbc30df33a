"""Onboarding by label with Kyverno's policies: what a namespace gets when the platform labels it for a tenant.

The same functions make the objects of a tenant that the stack lists; here names are Kyverno's placeholders. Namespaces
of listed tenants have a label of their own and are left to Pulumi.

Source: https://kyverno.io/docs/policy-types/generating-policy/ and
https://kyverno.io/docs/policy-types/mutating-policy/
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import text
from flux_tenancy.components.installs.flux.controller_rights import SHARED_IMPERSONATION, serving_roles, shared_bindings
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.native_only import TENANT_NAME, is_free
from flux_tenancy.components.policies.rendering import KYVERNO_API, object_name
from flux_tenancy.components.tenant.annotations import NAMESPACES, account_annotations
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.identity import role_binding, service_account
from flux_tenancy.components.tenant.limits import ROOM_AT_HOME, limiting_objects
from flux_tenancy.components.tenant.namespaces import PodSecurity, pod_security_labels
from flux_tenancy.components.tenant.network import TenantNetwork
from flux_tenancy.components.tenant.role import RECEIVER, TENANT_ROLE, Role
from flux_tenancy.components.tenant.scope import service_account_name, tenant_meta
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER, TENANT_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import FluxConfig

_TENANT = "(( variables.tenant ))"
_NAMESPACE = "(( object.metadata.name ))"
_NAMESPACES: Manifest = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"], "operations": ["CREATE", "UPDATE"]}
    ]
}
_LABELLED = (
    f"has(object.metadata.labels) && {text(TENANT_LABEL)} in object.metadata.labels && "
    f"(!({text(MANAGED_BY_LABEL)} in object.metadata.labels) || "
    f"object.metadata.labels[{text(MANAGED_BY_LABEL)}] != {text(MANAGER)})"
)


def onboarding(tenancy: TenancyConfig, flux: FluxConfig) -> list[Manifest]:
    """The policies; Kyverno's background controller needs `background_rules` for them."""
    return [_settings(tenancy, flux), _objects(tenancy, flux)]


def background_rules(flux: FluxConfig) -> list[Manifest]:
    """RBAC rules that Kyverno's background controller needs; it may bind only the roles that tenants need."""
    impersonated = [SHARED_IMPERSONATION, *(role["metadata"]["name"] for role in serving_roles(flux))]
    change = ["create", "delete", "get", "list", "patch", "update", "watch"]
    return [
        {"apiGroups": [""], "resources": ["limitranges", "resourcequotas", "serviceaccounts"], "verbs": change},
        {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": change},
        {"apiGroups": [RBAC], "resources": ["rolebindings"], "verbs": change},
        {
            "apiGroups": [RBAC],
            "resources": ["clusterroles"],
            "resourceNames": [TENANT_ROLE, *(impersonated if flux.impersonates else [])],
            "verbs": ["bind"],
        },
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
    ]


def _settings(tenancy: TenancyConfig, flux: FluxConfig) -> Manifest:
    """Sets the labels and annotations of a listed tenant's namespace, unless the platform has set others."""
    labels = {
        key: f"object.metadata.labels[?{text(key)}].orValue({text(value)})"
        for key, value in pod_security_labels(PodSecurity.RESTRICTED).items()
    }
    annotations = {NAMESPACES: f"object.metadata.?annotations[?{text(NAMESPACES)}].orValue(object.metadata.name)"}
    if account := tenancy.service_account_name:
        # Only the namespace shows whether this is the tenant's own name, so it is always set.
        annotations |= {
            key: text(value) for key, value in account_annotations("", account, flux.default_service_account).items()
        }
    expression = f"Object{{metadata: Object.metadata{{labels: {_map(labels)}, annotations: {_map(annotations)}}}}}"
    return _policy(
        "MutatingPolicy",
        {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "IfNeeded",
            "matchConditions": [{"name": "labelled", "expression": _LABELLED}],
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
        },
    )


def _objects(tenancy: TenancyConfig, flux: FluxConfig) -> Manifest:
    """Generates the objects and keeps them in sync.

    They outlive the policy, so that running tenants keep their limits, and go with the label, which is how a namespace
    is taken back.
    """
    return _policy(
        "GeneratingPolicy",
        {
            "evaluation": {
                "generateExisting": {"enabled": True},
                "synchronize": {"enabled": True},
                "orphanDownstreamOnPolicyDelete": {"enabled": True},
            },
            "matchConditions": [
                {"name": "labelled", "expression": _LABELLED},
                {"name": "possible", "expression": f"{is_free(TENANT_NAME)} && {is_free('object.metadata.name')}"},
                # A namespace that is older than these policies first needs a tenant's Pod Security labels.
                {"name": "secured", "expression": _are_set(pod_security_labels(PodSecurity.RESTRICTED))},
            ],
            "variables": [{"name": "tenant", "expression": TENANT_NAME}],
            "generate": [
                {"template": {"interpolate": "cel", "value": json.dumps(manifest, indent=2)}}
                for manifest in tenant_template(tenancy, flux)
            ],
        },
    )


def tenant_template(
    tenancy: TenancyConfig, flux: FluxConfig, tenant: str = _TENANT, namespace: str = _NAMESPACE
) -> list[Manifest]:
    """What a labelled namespace gets; its service account has rights in this namespace only."""
    meta, account = tenant_meta(tenant, namespace), service_account_name(tenant, tenancy)
    return [
        service_account(tenant, namespace, account),
        role_binding(tenant, namespace, namespace, Role.TENANT, account),
        *(shared_bindings(meta, flux, receivers=RECEIVER in tenancy.kinds) if flux.impersonates else []),
        *limiting_objects(meta, tenancy.limits, TenantNetwork.DEFAULT_DENY, ROOM_AT_HOME),
    ]


def _policy(kind: str, spec: Manifest) -> Manifest:
    return {
        "apiVersion": KYVERNO_API,
        "kind": kind,
        "metadata": {"name": object_name(PolicyName.ONBOARDING)},
        "spec": {"matchConstraints": _NAMESPACES, **spec},
    }


def _are_set(labels: Manifest) -> str:
    return " && ".join(f"{text(key)} in object.metadata.labels" for key in labels)


def _map(entries: dict[str, str]) -> str:
    """A CEL map of expressions."""
    return f"{{{', '.join(f'{text(key)}: {value}' for key, value in entries.items())}}}"
