"""The objects around Capsule's chart: its namespace, and what Capsule itself creates in the cluster and leaves behind.

Source: internal/controllers/admission, internal/controllers/rbac and charts/capsule of Capsule 0.14
"""

from __future__ import annotations

from collections.abc import Iterable

from components.cluster.subjects import RBAC
from components.vocabulary.manifests import Manifest

CAPSULE_NAMESPACE = "capsule-system"
CAPSULE_GROUP = "capsule.clastix.io"
DEFINITION_TYPE = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"

CREATED_BY_LABEL = "projectcapsule.dev/created-by"
"""Capsule's label on its webhook configurations, ClusterRoles and bindings."""
CREATED_WEBHOOKS = {CREATED_BY_LABEL: "controller"}
_CREATED_ROLES = {CREATED_BY_LABEL: "rbac-controller"}

WEBHOOKS = "capsule-dynamic-webhook"
"""Name of Capsule's validating and of its mutating webhook configuration."""
NAMESPACE_PROVISIONER, NAMESPACE_DELETER = "capsule-namespace-provisioner", "capsule-namespace-deleter"
"""Capsule's ClusterRoles to create and to delete namespaces."""
_VERBS = {NAMESPACE_PROVISIONER: ("create", "patch"), NAMESPACE_DELETER: ("delete",)}


def namespace() -> Manifest:
    """Capsule's own namespace, which enforces the strictest Pod Security Standard."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CAPSULE_NAMESPACE, "labels": labels}}


def generated_objects() -> list[Manifest]:
    """What Capsule fills in: its webhook configurations, and the roles to create and delete namespaces.

    Capsule creates those that are missing and keeps them up to date, and the chart removes some of them in a Job that
    needs an image of its own. With webhooks that remain, nobody could change a namespace any more. Registered here,
    they are deleted with the stack, when no Capsule is left that would create them again.
    """
    return [
        *(_webhooks(kind) for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")),
        # With their rules: Capsule ends if it has to change a role while it also reconciles it.
        *(_role("ClusterRole", name) | {"rules": [_rule(verbs)]} for name, verbs in _VERBS.items()),
        _role("ClusterRoleBinding", NAMESPACE_PROVISIONER)
        | {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAMESPACE_PROVISIONER}},
    ]


def _webhooks(kind: str) -> Manifest:
    metadata = {"name": WEBHOOKS, "labels": CREATED_WEBHOOKS}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata}


def _role(kind: str, name: str) -> Manifest:
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": name, "labels": _CREATED_ROLES}}


def _rule(verbs: Iterable[str]) -> Manifest:
    return {"apiGroups": [""], "resources": ["namespaces"], "verbs": list(verbs)}
