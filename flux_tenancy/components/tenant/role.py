"""The kinds of objects that tenants may write, and the project's own role for them, narrower than Kubernetes' `admin`.

A kind that is not listed is closed, so a new version of Flux or another controller opens nothing by itself.

API groups whose objects decide what tenants may do cannot be granted, even if the stack lists them
(`tenancy.grantableGroups`). What the role leaves out of Kubernetes' and Flux's own groups is left out on purpose:
quotas and limits, with which a tenant could lift its own limits; network policies, and roles and role bindings, unless
the stack opens them and policies judge them; status subresources; service account tokens and impersonation; endpoints,
which could redirect another tenant's traffic; ephemeral containers; ExternalArtifacts; cluster-scoped resources; and
resources of admission controllers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.yaml_files import data_of
from flux_tenancy.components.rbac.rights import READ
from flux_tenancy.components.rbac.subjects import rbac_role, rules_for, table
from flux_tenancy.components.vocabulary.manifests import Manifest, ResourceTable

if TYPE_CHECKING:
    from flux_tenancy.components.tenant.config import TenancyConfig


_WITHHELD: Mapping[str, Any] = data_of(__file__, "withheld_groups.yaml")
_KUBERNETES: Mapping[str, str] = {f"{name}.k8s.io": why for name, why in _WITHHELD["kubernetes"].items()}
_WHY_CORE = "the tenant role has what is safe of it"


def owner_of(group: str) -> str | None:
    """Whose an API group is that cannot be granted; None for any other, e.g. `cert-manager.io`."""
    if "." not in group or group in _KUBERNETES:
        return "Kubernetes"
    return next(
        (row["owner"] for row in _WITHHELD["others"] for end in row["groups"] if f".{group}".endswith(f".{end}")), None
    )


def why_withheld(group: str) -> str:
    """Why an API group with an owner (`owner_of`) cannot be granted."""
    owner = owner_of(group)
    if owner == "Kubernetes":
        return _KUBERNETES.get(group, _WHY_CORE)
    return next((str(row["why"]) for row in _WITHHELD["others"] if row["owner"] == owner), "")


_SOURCE, _IMAGE, _NOTIFICATION = (f"{name}.toolkit.fluxcd.io" for name in ("source", "image", "notification"))

RECEIVER = "Receiver"

FLUX_KINDS: Mapping[str, tuple[str, str]] = {
    "Bucket": (_SOURCE, "buckets"),
    "GitRepository": (_SOURCE, "gitrepositories"),
    "HelmChart": (_SOURCE, "helmcharts"),
    "HelmRepository": (_SOURCE, "helmrepositories"),
    "OCIRepository": (_SOURCE, "ocirepositories"),
    "ArtifactGenerator": ("source.extensions.fluxcd.io", "artifactgenerators"),
    "Kustomization": ("kustomize.toolkit.fluxcd.io", "kustomizations"),
    "HelmRelease": ("helm.toolkit.fluxcd.io", "helmreleases"),
    "Alert": (_NOTIFICATION, "alerts"),
    "Provider": (_NOTIFICATION, "providers"),
    RECEIVER: (_NOTIFICATION, "receivers"),
    "ImagePolicy": (_IMAGE, "imagepolicies"),
    "ImageRepository": (_IMAGE, "imagerepositories"),
    "ImageUpdateAutomation": (_IMAGE, "imageupdateautomations"),
}
"""Flux's kinds that a tenant can be allowed to write: API group and plural.

ExternalArtifact is missing: its status, which its author writes, is an address that Flux fetches without any check.
"""

OPEN_FLUX_KINDS = ("Kustomization", "HelmRelease", "GitRepository", "HelmRepository", "OCIRepository", "HelmChart")
"""The kinds of Flux that are always open; `allowed-sources` limits what sources fetch.

Of HelmCharts, and of the charts of HelmReleases, only those from a HelmRepository are open.
"""

OPENED_KINDS = tuple(kind for kind in FLUX_KINDS if kind == "HelmChart" or kind not in OPEN_FLUX_KINDS)
"""The kinds of Flux that a stack or a tenant opens by name; `HelmChart` stands for charts from Git and Buckets."""

# A plural and an API group, as kubectl writes them.
_RESOURCE = re.compile(r"[a-z][-a-z0-9]*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")


def flux_kinds_by_group() -> ResourceTable:
    """The resources of `FLUX_KINDS`, in its order."""
    by_group = groupby(FLUX_KINDS.values(), key=itemgetter(0))
    return tuple((group, tuple(resource for _, resource in kinds)) for group, kinds in by_group)


def group_resource(group: str, resource: str) -> str:
    """A resource as kubectl writes it: `certificates.cert-manager.io`, or `pods` of the core group.

    Source: https://pkg.go.dev/k8s.io/apimachinery/pkg/runtime/schema#GroupResource
    """
    return f"{resource}.{group}" if group else resource


def resources_of(kinds: Iterable[str]) -> tuple[str, ...]:
    """The resources of kinds as the configuration names them."""
    return tuple(group_resource(*FLUX_KINDS[kind]) if kind in FLUX_KINDS else kind for kind in kinds)


def _opened_kind(value: str) -> str:
    group = value.partition(".")[2] if _RESOURCE.fullmatch(value) else ""
    owner = owner_of(group)
    if value not in OPENED_KINDS and owner is not None:
        why = f": it belongs to {owner}, and {why_withheld(group)}" if group else ""
        raise ValueError(
            Message(
                "FT-CFG-405",
                f"is not a kind that can be opened to tenants{why}",
                f"use one of {', '.join(OPENED_KINDS)}, or the resource of another controller, such as "
                "certificates.cert-manager.io",
            )
        )
    return value


OpenedKind = Annotated[
    str,
    AfterValidator(_opened_kind),
    WithJsonSchema(
        {
            "type": "string",
            "anyOf": [{"enum": [*OPENED_KINDS]}, {"pattern": f"^{_RESOURCE.pattern}$"}],
            "description": "one of Flux's kinds, or <plural>.<API group>",
        }
    ),
]
"""A kind that a stack or a tenant opens: one of Flux's by its name, a custom one as `certificates.cert-manager.io`."""


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
    """The resources that rules name, each once, as `components.tenant.role.group_resource` writes them."""
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
        *(as_rule(rule) for rule in tenancy.extra_rules),
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


def as_rule(rule: Section) -> Manifest:
    """A rule of the configuration as a role has it."""
    return {key: list(value) for key, value in rule.model_dump(by_alias=True).items() if value}
