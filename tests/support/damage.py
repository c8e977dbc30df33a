"""Kinds of damage to a running stack, as data: what somebody does by hand or another controller writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FLUX, TEAM, OTHER = "flux-system", "dev-team", "ops-team"
_POD, _CONTAINER = "/spec/template/spec", "/spec/template/spec/containers/0"
_SHOWN_POD, _SHOWN_CONTAINER = "spec.template.spec", "spec.template.spec.containers[manager]"
BY_HAND, BY_CONTROLLER = "kubectl-edit", "another-controller"

Object = dict[str, Any]


@dataclass(frozen=True)
class Damage:
    """One field that somebody writes.

    Attributes:
        kind: kind of the object.
        namespace: its namespace; empty if it is cluster-scoped.
        name: its name; empty for the first of its kind in the namespace.
        operation: `add`, `replace` or `remove`, as a JSON Patch has them.
        path: the JSON Pointer of the field.
        value: the new value, or what makes it of the object.
        reported: the field as drift names it.
        manager: the field manager that writes.
    """

    kind: str
    namespace: str
    name: str
    operation: str
    path: str
    value: Any
    reported: str
    manager: str = BY_HAND

    def patch(self, found: Object) -> list[Object]:
        """The JSON Patch, with what it needs around the field."""
        value = self.value(found) if isinstance(self.value, Callable) else self.value  # type: ignore[arg-type]
        around = []
        for name in ("annotations", "labels", "finalizers", "ownerReferences"):
            if self.path.startswith(f"/metadata/{name}/") and name not in found["metadata"]:
                empty: Any = {} if name in ("annotations", "labels") else []
                around.append({"op": "add", "path": f"/metadata/{name}", "value": empty})
        done = {"op": self.operation, "path": self.path}
        return [*around, done if self.operation == "remove" else done | {"value": value}]


def _args(found: Object) -> list[str]:
    arguments: list[str] = found["spec"]["template"]["spec"]["containers"][0]["args"]
    return arguments


def _deployment(name: str, operation: str, path: str, value: Any, reported: str, manager: str = BY_HAND) -> Damage:
    return Damage("Deployment", FLUX, name, operation, path, value, reported, manager)


_USER = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory"}
_RULE = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
_POLICY = "flux-tenancy-host-access"
_OPEN = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [{}], "egress": [{}]}
KUSTOMIZE, HELM = "kustomize-controller", "helm-controller"
SOURCE, NOTIFICATION = "source-controller", "notification-controller"

DAMAGES = (
    # Controllers: flags, environment, image, account, power over the node.
    _deployment(
        KUSTOMIZE, "add", f"{_CONTAINER}/args/-", "--no-cross-namespace-refs=false", f"{_SHOWN_CONTAINER}.args"
    ),
    _deployment(HELM, "replace", f"{_CONTAINER}/args", lambda each: _args(each)[::-1], f"{_SHOWN_CONTAINER}.args"),
    _deployment(NOTIFICATION, "remove", f"{_CONTAINER}/args/0", None, f"{_SHOWN_CONTAINER}.args", BY_CONTROLLER),
    _deployment(SOURCE, "remove", f"{_CONTAINER}/args", None, f"{_SHOWN_CONTAINER}.args"),
    _deployment(
        KUSTOMIZE,
        "add",
        f"{_CONTAINER}/env/-",
        {"name": "HTTPS_PROXY", "value": "http://proxy.example"},
        f"{_SHOWN_CONTAINER}.env[HTTPS_PROXY]",
        BY_CONTROLLER,
    ),
    _deployment(HELM, "replace", f"{_CONTAINER}/image", "example.com/other:1", f"{_SHOWN_CONTAINER}.image"),
    _deployment(
        KUSTOMIZE,
        "add",
        f"{_POD}/containers/-",
        {"name": "sidecar", "image": "example.com/sidecar:1"},
        "spec.template.spec.containers[sidecar]",
        BY_CONTROLLER,
    ),
    _deployment(HELM, "add", f"{_POD}/hostNetwork", True, f"{_SHOWN_POD}.hostNetwork"),
    _deployment(HELM, "replace", "/spec/replicas", 0, "spec.replicas", BY_CONTROLLER),
    _deployment(SOURCE, "replace", f"{_POD}/serviceAccountName", "default", f"{_SHOWN_POD}.serviceAccountName"),
    _deployment(
        NOTIFICATION, "add", f"{_POD}/automountServiceAccountToken", False, f"{_SHOWN_POD}.automountServiceAccountToken"
    ),
    _deployment(
        NOTIFICATION,
        "add",
        f"{_CONTAINER}/securityContext",
        {"privileged": True},
        f"{_SHOWN_CONTAINER}.securityContext",
        BY_CONTROLLER,
    ),
    _deployment(
        SOURCE,
        "add",
        f"{_POD}/volumes/-",
        {"name": "node", "hostPath": {"path": "/"}},
        f"{_SHOWN_POD}.volumes[node]",
    ),
    # Roles, bindings and accounts.
    Damage("ClusterRole", "", "flux-tenancy-tenant", "add", "/rules/-", _RULE, "rules"),
    Damage("ClusterRole", "", "flux-tenancy-previewer", "remove", "/rules/0", None, "rules", BY_CONTROLLER),
    Damage("RoleBinding", TEAM, "dev-team-reconciler", "add", "/subjects/-", _USER, "subjects"),
    Damage(
        "ClusterRoleBinding", "", "flux-tenancy-previewer", "replace", "/subjects", [_USER], "subjects", BY_CONTROLLER
    ),
    Damage("ServiceAccount", TEAM, TEAM, "add", "/automountServiceAccountToken", True, "automountServiceAccountToken"),
    Damage(
        "ServiceAccount",
        TEAM,
        TEAM,
        "add",
        "/metadata/annotations/eks.amazonaws.com~1role-arn",
        "arn:aws:iam::1:role/admin",
        'metadata.annotations["eks.amazonaws.com/role-arn"]',
        BY_CONTROLLER,
    ),
    # Policies.
    Damage(
        "ValidatingAdmissionPolicy",
        "",
        _POLICY,
        "replace",
        "/spec/validations/0/expression",
        "true",
        "spec.validations",
    ),
    Damage("ValidatingAdmissionPolicy", "", _POLICY, "replace", "/spec/failurePolicy", "Ignore", "spec.failurePolicy"),
    Damage(
        "ValidatingAdmissionPolicyBinding",
        "",
        _POLICY,
        "replace",
        "/spec/validationActions",
        ["Audit"],
        "spec.validationActions",
    ),
    # Namespaces: Pod Security, what a service mesh reads, whose they are.
    Damage(
        "Namespace",
        "",
        TEAM,
        "replace",
        "/metadata/labels/pod-security.kubernetes.io~1enforce",
        "privileged",
        'metadata.labels["pod-security.kubernetes.io/enforce"]',
    ),
    Damage(
        "Namespace", "", TEAM, "add", "/metadata/labels/istio-injection", "disabled", "metadata.labels.istio-injection"
    ),
    Damage(
        "Namespace",
        "",
        OTHER,
        "remove",
        "/metadata/labels/pod-security.kubernetes.io~1enforce",
        None,
        'metadata.labels["pod-security.kubernetes.io/enforce"]',
        BY_CONTROLLER,
    ),
    # Limits and networks.
    Damage("ResourceQuota", TEAM, "", "replace", "/spec/hard", {"pods": "100000"}, "spec.hard", BY_CONTROLLER),
    Damage("LimitRange", TEAM, "", "replace", "/spec/limits", [{"type": "Container"}], "spec.limits"),
    Damage("NetworkPolicy", TEAM, "", "replace", "/spec", _OPEN, "spec", BY_CONTROLLER),
    # Flux: what is applied, from where and as whom.
    Damage("Kustomization", TEAM, TEAM, "add", "/spec/prune", False, "spec.prune"),
    Damage("Kustomization", TEAM, TEAM, "add", "/spec/path", "./other", "spec.path"),
    Damage("Kustomization", TEAM, TEAM, "add", "/spec/suspend", True, "spec.suspend", BY_CONTROLLER),
    Damage("GitRepository", TEAM, TEAM, "replace", "/spec/url", "https://example.com/evil", "spec.url"),
    # Metadata by which other controllers delete or keep an object.
    Damage(
        "RoleBinding",
        TEAM,
        "dev-team-reconciler",
        "add",
        "/metadata/finalizers/-",
        "example.com/stuck",
        "metadata.finalizers[example.com/stuck]",
    ),
    # A definition.
    Damage(
        "CustomResourceDefinition",
        "",
        "buckets.source.toolkit.fluxcd.io",
        "add",
        "/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-preserve-unknown-fields",
        True,
        "spec.versions",
        BY_CONTROLLER,
    ),
    # Secrets.
    Damage("Secret", TEAM, "", "add", "/data/token", "b3RoZXI=", "data.token"),
    Damage("Secret", TEAM, "", "add", "/data/more", "b3RoZXI=", "data.more", BY_CONTROLLER),
)
"""Damages that do not exclude each other."""

DELETED = (
    ("NetworkPolicy", FLUX, "allow-egress"),
    ("RoleBinding", OTHER, "ops-team-reconciler"),
)
"""Objects that somebody deletes."""
RECREATED = ("ServiceAccount", OTHER, OTHER)
"""An object that another manager deletes and creates again with the same content."""
STRIPPED = ("ClusterRole", "", "flux-tenancy-previewer")
"""An object whose record of field managers somebody removes."""
