"""The project's own role for tenants, narrower than Kubernetes' `admin`.

Deliberately left out: quotas and limits, with which a tenant could lift its own limits; network policies, and roles
and role bindings, unless the stack opens them and policies judge them; status subresources; service account tokens and
impersonation; endpoints, which could redirect another tenant's traffic; ephemeral containers; ExternalArtifacts;
cluster-scoped resources; and resources of admission controllers.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.rbac.subjects import rbac_role, rules_for, table
from flux_tenancy.components.tenant.kinds import OPEN_FLUX_KINDS, flux_kinds_by_group, group_resource, resources_of
from flux_tenancy.components.vocabulary.manifests import Manifest, ResourceTable

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.tenancy_config import TenancyConfig


class Role(StrEnum):
    """Rights of a tenant in its namespaces: the project's own role, or Kubernetes' role of that name."""

    TENANT = "tenant"
    ADMIN = "admin"
    CLUSTER_ADMIN = "cluster-admin"


def _known(value: Any) -> Any:
    if isinstance(value, str) and value not in list(Role):
        raise ValueError(
            Message(
                "FT-TEN-323",
                "is not a role of tenants",
                f"leave it out for `{Role.TENANT}`, and add single rights with `grants` (docs/grants.md); "
                f"`{Role.ADMIN}` and `{Role.CLUSTER_ADMIN}` are Kubernetes' roles",
            )
        )
    return value


TenantRole = Annotated[Role, BeforeValidator(_known)]


class PolicyRule(Section):
    """A rule of a Kubernetes role."""

    api_groups: tuple[str, ...] = Field(description="API groups; the core group is the empty string.")
    resources: tuple[str, ...] = Field(
        min_length=1, description="Resources by their plural names, e.g. `certificates`."
    )
    verbs: tuple[str, ...] = Field(min_length=1, description="Allowed verbs, e.g. `get`, `list`, `watch`, `create`.")
    resource_names: tuple[str, ...] = Field((), description="Names of the objects; defaults to all.")


def resources_of_rules(rules: Iterable[PolicyRule]) -> tuple[str, ...]:
    """The resources that rules name, each once, as `components.tenant.kinds.group_resource` writes them."""
    named = (
        group_resource(group, resource)
        for rule in rules
        for group in rule.api_groups
        for resource in rule.resources
        if "*" not in (group, resource) and "/" not in resource
    )
    return tuple(dict.fromkeys(named))


TENANT_ROLE = "flux-tenancy-tenant"
FLUX_GROUPS = ".fluxcd.io"

_CHANGE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
READ = ("get", "list", "watch")

# (API group, resources that the tenant manages). Listed one by one, since a wildcard would include their status.
MANAGED: ResourceTable = (
    *table(
        """
        core: configmaps persistentvolumeclaims pods secrets serviceaccounts services
        apps: daemonsets deployments deployments/scale replicasets statefulsets statefulsets/scale
        autoscaling: horizontalpodautoscalers
        batch: cronjobs jobs
        coordination.k8s.io: leases
        networking.k8s.io: ingresses
        policy: poddisruptionbudgets
        """
    ),
    *flux_kinds_by_group(),
)
# (API group, resources that the tenant may only read), to understand why something is refused or fails.
READABLE: ResourceTable = table(
    """
    core: endpoints events limitranges pods/log pods/status resourcequotas resourcequotas/status
    discovery.k8s.io: endpointslices
    events.k8s.io: events
    networking.k8s.io: networkpolicies
    rbac.authorization.k8s.io: rolebindings roles
    source.toolkit.fluxcd.io: externalartifacts
    """
)
# (API group, subresources) for manual access to the tenant's own pods.
_POD_ACCESS = table("core: pods/attach pods/eviction pods/exec pods/portforward")
# Kinds of Kubernetes beyond those of the tenant role, for tenants with another role. Policies say who may write limits,
# endpoints, access and ControllerRevisions, and who binds pods. Events are left out: whoever writes them reports in the
# name of any controller about any object, and no quota counts them.
# Source: ignoredResources in pkg/quota/v1/install/registry.go of Kubernetes 1.37
_FURTHER: ResourceTable = table(
    """
    core: bindings podtemplates replicationcontrollers
    core: endpoints limitranges resourcequotas
    apps: controllerrevisions
    discovery.k8s.io: endpointslices
    networking.k8s.io: networkpolicies
    rbac.authorization.k8s.io: rolebindings roles
    """
)
ROLES: ResourceTable = table("rbac.authorization.k8s.io: rolebindings roles")
"""What `policies.roles` lets tenants write."""
NETWORK_POLICIES: ResourceTable = table("networking.k8s.io: networkpolicies")
"""What `policies.networkPolicies` lets tenants write."""
# The policy `status-writes` refuses them with a reason.
_EXTERNAL_ARTIFACTS = group_resource("source.toolkit.fluxcd.io", "externalartifacts")


def open_resources() -> tuple[str, ...]:
    """The resources that every tenant may write as far as its role allows it, as `group_resource` writes them."""
    of_kubernetes = (
        group_resource(group, name)
        for group, names in (*MANAGED, *_FURTHER)
        if not group.endswith(FLUX_GROUPS)
        for name in names
        if "/" not in name
    )
    return (*of_kubernetes, *resources_of(OPEN_FLUX_KINDS), _EXTERNAL_ARTIFACTS)


def tenant_role(tenancy: TenancyConfig, opened: ResourceTable = ()) -> Manifest:
    """The ClusterRole that tenants are bound to inside their namespaces, with the platform's own additions.

    Args:
        tenancy: the settings of all tenants.
        opened: what the policies let tenants write in addition: `ROLES`, `NETWORK_POLICIES`.
    """
    rules = [
        *rules_for(MANAGED, _CHANGE),
        *rules_for(opened, _CHANGE),
        *rules_for(READABLE, READ),
        *rules_for(_POD_ACCESS, ("create", "get")),
        *(_as_rule(rule) for rule in tenancy.extra_rules),
    ]
    return rbac_role("ClusterRole", {"name": TENANT_ROLE}, rules)


def flux_resources() -> tuple[str, ...]:
    """Every Flux resource that a tenant can create, as `<plural>.<group>`."""
    return tuple(
        f"{resource}.{group}" for group, resources in MANAGED if group.endswith(FLUX_GROUPS) for resource in resources
    )


def cluster_role_for(role: Role) -> str:
    """The name of the ClusterRole behind a role of the configuration."""
    return TENANT_ROLE if role is Role.TENANT else role.value


def _as_rule(rule: PolicyRule) -> Manifest:
    return {key: list(value) for key, value in rule.model_dump(by_alias=True).items() if value}
