"""Names, labels and API versions of Capsule, and what marks the namespaces that tenants make themselves.

Source: pkg/api/meta and api/v1beta2 of Capsule 0.14
"""

from __future__ import annotations

from flux_tenancy.components.installs.capsule.objects import CAPSULE_GROUP
from flux_tenancy.components.tenant.annotations import PREFIX
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL

CAPSULE_API = f"{CAPSULE_GROUP}/v1beta2"
TENANT, TENANT_OWNER, REPLICATION = "Tenant", "TenantOwner", "GlobalTenantResource"
TENANT_TYPE = f"kubernetes:{CAPSULE_API}:{TENANT}"

CAPSULE_TENANT_LABEL = f"{CAPSULE_GROUP}/tenant"
"""The label of each namespace of a Capsule Tenant, with its name."""
OWNER_OF_LABEL = "projectcapsule.dev/tenant"
"""The label of a TenantOwner with the name of the Tenant that it owns."""
NAMESPACE_READER = "flux-tenancy-own-namespace"
"""The ClusterRole to read the namespace that one is bound in: Flux waits for a namespace before it fills it."""
BOUND_BY_LABEL, BOUND_BY = "projectcapsule.dev/managed-by", "controller"
"""The label of the RoleBindings that Capsule makes of a Tenant."""

MADE_BY_TENANT = "capsule"
"""The value of the label `app.kubernetes.io/managed-by` on namespaces that tenants make themselves."""
SELF_MADE = {MANAGED_BY_LABEL: MADE_BY_TENANT}
OWNER = f"{PREFIX}owner"
"""The annotation of such a namespace with the user who may change and delete it."""
LIMIT_LABEL = f"{PREFIX}limit"
"""The label of each limit in such a namespace with its name, the same for all tenants."""
SETTINGS = f"{PREFIX}settings"
"""The annotation of such a namespace with the keys of all annotations that the platform sets on it."""

NODE_SELECTOR = "scheduler.alpha.kubernetes.io/node-selector"
"""Source: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#podnodeselector"""
KEYS_OF_CAPSULE = (f"{CAPSULE_GROUP}/", "projectcapsule.dev/", NODE_SELECTOR)
"""What the keys of the labels and annotations begin with that Capsule puts on namespaces."""


def made_prefix(tenant: str) -> str:
    """What the names of the namespaces that a tenant makes begin with."""
    return f"{tenant}-"
