"""What Capsule lets the owners of its Tenants do, as the roles and bindings that it makes of them.

Source: internal/controllers/rbac/manager.go and internal/controllers/tenant/rolebindings.go of Capsule 0.14
"""

from __future__ import annotations

from collections.abc import Iterator

from flux_tenancy.components.installs.capsule.objects import NAMESPACE_DELETER, NAMESPACE_PROVISIONER, generated_objects
from flux_tenancy.components.rbac.manifests import rbac_binding
from flux_tenancy.components.tenant.capsule.names import CAPSULE_API, TENANT, TENANT_OWNER
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL


def made_by(tenant: str) -> str:
    """The name that stands for all namespaces that a tenant makes itself."""
    return f"namespaces that {tenant} makes"


def of_capsule(manifest: Manifest) -> Iterator[Manifest]:
    """The namespaces that a Tenant may make as one, with the access in it; its owner's rights in the whole cluster."""
    if manifest["apiVersion"] != CAPSULE_API:
        return
    name = manifest["metadata"]["name"]
    if manifest["kind"] == TENANT_OWNER:
        yield _role(NAMESPACE_PROVISIONER)
        owner = {"kind": "User", "name": manifest["spec"]["name"]}
        yield rbac_binding("ClusterRoleBinding", {"name": name}, NAMESPACE_PROVISIONER, [owner])
    if manifest["kind"] == TENANT:
        here = made_by(name)
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": here, "labels": {TENANT_LABEL: name}}}
        yield _role(NAMESPACE_DELETER)
        for rule in manifest["spec"]["rules"]:
            for each in rule.get("permissions", {}).get("bindings", ()):
                metadata = {"name": "capsule", "namespace": here}
                yield rbac_binding("RoleBinding", metadata, each["clusterRoleName"], each["subjects"])


def _role(name: str) -> Manifest:
    roles = {each["metadata"]["name"]: each for each in generated_objects() if each["kind"] == "ClusterRole"}
    return roles[name]
