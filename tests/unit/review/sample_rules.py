"""Objects as a render has them, for tests that need a few."""

from __future__ import annotations

from typing import Any

from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject

RBAC = "rbac.authorization.k8s.io/v1"
ACCOUNT = {"kind": "ServiceAccount", "name": "dev-team", "namespace": "apps"}
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


def rendered_object(manifest: Manifest, owner: str = PLATFORM, resource: str = "") -> RenderedObject:
    """An object of the cluster; the name of its resource is that of the object by default."""
    return RenderedObject(owner, resource_type(manifest), resource or name_of(manifest), manifest)


def cluster_object(
    api: str, kind: str, name: str, namespace: str = "", owner: str = PLATFORM, **fields: Any
) -> RenderedObject:
    """Such an object from its parts."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return rendered_object({"apiVersion": api, "kind": kind, "metadata": metadata, **fields}, owner)


def namespace(name: str = "apps", tenant: str = "dev-team") -> RenderedObject:
    """A tenant's namespace."""
    metadata = {"name": name, "labels": {TENANT_LABEL: tenant}}
    return rendered_object({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, tenant)


def role(name: str, rules: list[Manifest], within: str = "") -> RenderedObject:
    """A Role in a namespace, or a ClusterRole."""
    return cluster_object(RBAC, "Role" if within else "ClusterRole", name, within, rules=rules)


def binding(to: str, *subjects: Manifest, within: str = "", kind: str = "ClusterRole") -> RenderedObject:
    """A RoleBinding in a namespace, or a ClusterRoleBinding."""
    return cluster_object(
        RBAC,
        "RoleBinding" if within else "ClusterRoleBinding",
        "powerful",
        within,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": to},
        subjects=list(subjects),
    )


def deploy_key(**properties: Any) -> RenderedObject:
    """A deploy key at GitHub."""
    manifest = {
        "kind": "RepositoryDeployKey",
        "metadata": {"name": "dev-team-0f1e2d3c4b"},
        "properties": {"repository": "apps", "readOnly": True} | properties,
    }
    return RenderedObject("dev-team", DEPLOY_KEY_TYPE, "dev-team-0f1e2d3c4b", manifest)
