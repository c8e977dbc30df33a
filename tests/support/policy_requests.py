"""The users of the policies' cases, their roles, and their requests."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import httpx

from dev.lab.control_plane import NODE_NAME
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.tenant.people import DEVELOPER as ROLE_OF_DEVELOPERS
from flux_tenancy.components.tenant.people import TenantPeople, people_roles
from flux_tenancy.components.tenant.role import TENANT_ROLE, tenant_role
from flux_tenancy.components.vocabulary.manifests import merge_patch
from tests.support.api_client import ApiClient
from tests.support.policy_cases import APPS, NAMESPACE_OBJECTS, TENANT, Case, User

RBAC = {"apiVersion": "rbac.authorization.k8s.io/v1"}
USERS = {
    User.TENANT: f"system:serviceaccount:{APPS}:{TENANT}",
    User.MEMBER: "ann",
    User.DEVELOPER: "dana",
    User.WORKLOAD: f"system:serviceaccount:{APPS}:operator",
    User.MAKER: f"system:serviceaccount:{APPS}:maker",
    User.PLATFORM: "platform",
    User.PATCHER: "patcher",
    User.NODE: f"system:node:{NODE_NAME}",
    User.SCHEDULER: "system:kube-scheduler",
    User.CONTROLLER: "system:serviceaccount:kube-system:statefulset-controller",
}
DEVELOPER = {"kind": "User", "name": USERS[User.DEVELOPER]}
GROUPS = {User.NODE: ("system:nodes",)}
_DEFINITION = "CustomResourceDefinition"
METHODS = {"CREATE": "POST", "UPDATE": "PATCH", "DELETE": "DELETE"}


def as_in_flux_2_10(manifest: dict[str, Any]) -> dict[str, Any]:
    """An object of the lab's Flux; a definition with the fields of Flux 2.10 that the requests have."""
    change = _IN_FLUX_2_10.get(manifest["spec"]["names"]["kind"]) if manifest["kind"] == _DEFINITION else None
    if change is None:
        return manifest
    manifest = copy.deepcopy(manifest)
    for version in manifest["spec"]["versions"]:
        change(version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])
    return manifest


def _generator_in_flux_2_10(spec: dict[str, Any]) -> None:
    managed = {"allowedNames": {"type": "array", "items": _TEXT}, "prune": {"type": "boolean"}}
    spec["serviceAccountName"] = _TEXT
    spec["managedNamespaces"] = {"type": "object", "properties": managed}
    spec["artifacts"]["items"]["properties"]["namespace"] = _TEXT


def _release_in_flux_2_10(spec: dict[str, Any]) -> None:
    template = spec["chart"]["properties"]
    template["kind"] = _TEXT
    template["spec"]["properties"] |= {"url": _TEXT, "provider": _TEXT}
    template["spec"].pop("required", None)


_TEXT = {"type": "string"}
_IN_FLUX_2_10 = {"ArtifactGenerator": _generator_in_flux_2_10, "HelmRelease": _release_in_flux_2_10}


def ask(api: ApiClient, case: Case, user: User) -> httpx.Response:
    """Make the request of a case as a user; nothing is changed."""
    return api.request(
        METHODS[case.operation],
        case.target,
        user=USERS[user],
        groups=GROUPS.get(user, ()),
        subresource=case.subresource,
        dry_run=True,
        body=_body(api, case),
        applied=case.applied,
    )


def _body(api: ApiClient, case: Case) -> dict[str, Any]:
    if case.pod is None:
        return case.object
    uid = api.request("GET", case.pod).json()["metadata"]["uid"]
    body: dict[str, Any] = merge_patch(case.object, {"spec": {"boundObjectRef": {"uid": uid}}})
    return body


def access() -> Iterator[dict[str, Any]]:
    """Who may do what, as far as roles go."""
    yield tenant_role(TenancyConfig())
    yield from people_roles(TenancyConfig(), [TenantPeople.model_validate({"developers": [DEVELOPER]})])
    change = ["patch", "deletecollection"]
    yield RBAC | {
        "kind": "ClusterRole",
        "metadata": {"name": "patcher"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": change}],
    }
    for user, role in ((User.PLATFORM, "cluster-admin"), (User.PATCHER, "patcher")):
        yield bound("ClusterRoleBinding", {"name": user.value}, role, {"kind": "User", "name": USERS[user]})
    for namespace in NAMESPACE_OBJECTS:
        account = {"kind": "ServiceAccount", "name": TENANT, "namespace": APPS}
        yield bound("RoleBinding", {"name": "tenant", "namespace": namespace}, TENANT_ROLE, account)
        member = {"kind": "User", "name": USERS[User.MEMBER]}
        yield bound("RoleBinding", {"name": "member", "namespace": namespace}, "cluster-admin", member)
        operator = {"kind": "ServiceAccount", "name": "operator", "namespace": APPS}
        yield bound("RoleBinding", {"name": "operator", "namespace": namespace}, "cluster-admin", operator)
        yield bound("RoleBinding", {"name": "developer", "namespace": namespace}, ROLE_OF_DEVELOPERS, DEVELOPER)
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}}
    yield {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "tenants"},
        "value": 1,
    }


def bound(kind: str, metadata: dict[str, Any], role: str, subject: dict[str, Any]) -> dict[str, Any]:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    group = {} if subject["kind"] == "ServiceAccount" else {"apiGroup": "rbac.authorization.k8s.io"}
    return RBAC | {"kind": kind, "metadata": metadata, "roleRef": reference, "subjects": [subject | group]}


def definition(group: str, kind: str, scope: str = "Namespaced", version: str = "v1") -> dict[str, Any]:
    """A kind without a schema."""
    plural = re.sub("([^a])y$", r"\1ie", kind.lower()) + "s"
    # An API server takes no kind of this group without.
    annotations = {"api-approved.kubernetes.io": "unapproved, for tests"} if group.endswith(".k8s.io") else {}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": scope,
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


CUSTOM_KINDS = (
    # A kind of a controller that the platform does not know.
    definition("example.com", "Widget"),
    # Kinds that publish host names.
    *(
        definition(group, kind)
        for group, kinds in {
            "cert-manager.io": ("Certificate", "CertificateRequest"),
            "externaldns.k8s.io": ("DNSEndpoint",),
            "gateway.networking.k8s.io": ("Gateway", "GRPCRoute", "HTTPRoute", "ListenerSet", "TLSRoute"),
            "gateway.networking.x-k8s.io": ("XListenerSet",),
            "networking.istio.io": ("Gateway", "ServiceEntry", "VirtualService"),
            "projectcontour.io": ("HTTPProxy",),
            "traefik.containo.us": ("IngressRoute", "IngressRouteTCP"),
            "traefik.io": ("IngressRoute", "IngressRouteTCP"),
        }.items()
        for kind in kinds
    ),
)
# The policies are about their names alone.
KYVERNO_KINDS = (
    definition("kyverno.io", "Policy"),
    definition("policies.kyverno.io", "PolicyException"),
    definition("policies.kyverno.io", "NamespacedValidatingPolicy"),
    definition("policies.kyverno.io", "ValidatingPolicy", "Cluster"),
)
