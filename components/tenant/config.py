"""The `tenancy` section and a tenant, as one environment has them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from components.allowlists.types import HostPattern, HostPatternText, ImagePatternText, SourcePatternText, VerifiedKind
from components.config.errors import MisplacedValueError
from components.config.section import Section
from components.config.types import Duration, NamespaceName, Quantity, RepositoryPath
from components.git.config import GitSource
from components.sync.config import Reconciliation
from components.tenant.types import QuotaResource, ServiceAccountName


class TenantPolicies(Section):
    """What a tenant may have beyond what all tenants may."""

    sources: tuple[SourcePatternText, ...] = Field(
        (), description="URL patterns that its sources may have, besides `policies.sources.allowed`."
    )
    images: tuple[ImagePatternText, ...] = Field(
        (), description="Image repositories that it may run, besides `policies.images.allowed`."
    )
    verified: tuple[VerifiedKind, ...] = Field(
        (), description="Kinds whose content must be verified, besides `policies.sources.verified`."
    )
    notifications: tuple[HostPatternText, ...] = Field(
        (), description="Hosts that its notifications may go to, besides `policies.notifications.hosts`."
    )
    hosts: tuple[HostPattern, ...] = Field(
        (), description="Host names that its Ingresses may have, besides `policies.ingress.hosts`."
    )


# Labels that decide what a tenant may do; they come from typed keys, never from free-form ones.
PROTECTED_LABEL_PREFIXES = (
    "pod-security.kubernetes.io/",
    "toolkit.fluxcd.io/",
    "flux-tenancy/",
    "kubernetes.io/",
    "kustomize.toolkit.fluxcd.io/",
    "app.kubernetes.io/managed-by",
)


class PolicyRule(Section):
    """A rule of a Kubernetes role."""

    api_groups: tuple[str, ...] = Field(description="API groups; the core one is the empty string.")
    resources: tuple[str, ...] = Field(
        min_length=1, description="Resources by their plural names, e.g. `certificates`."
    )
    verbs: tuple[str, ...] = Field(min_length=1, description="What is allowed, e.g. `get`, `list`, `watch`, `create`.")
    resource_names: tuple[str, ...] = Field(
        (), description="Names of the only objects that are meant; all where left out."
    )


class ContainerLimits(Section):
    """The LimitRange of a tenant's namespaces.

    Source: https://kubernetes.io/docs/concepts/policy/limit-range/
    """

    requests: dict[QuotaResource, Quantity] = Field(
        default_factory=dict, description="What a container requests that does not say, e.g. `cpu: 50m`."
    )
    limits: dict[QuotaResource, Quantity] = Field(
        default_factory=dict, description="The limits of a container that does not say, e.g. `memory: 256Mi`."
    )
    maximum: dict[QuotaResource, Quantity] = Field(
        default_factory=dict, description="The highest limit of a container, e.g. `memory: 4Gi`."
    )


class TenantLimits(Section):
    """How much a tenant may have, in each of its namespaces."""

    flux_objects: int = Field(
        100, ge=1, description="How many objects of each of Flux's kinds: GitRepositories, HelmReleases and so on."
    )
    # kustomize-controller builds one at a time, so this many stand before a neighbour's: docs/tenants.md.
    kustomizations: int = Field(
        5,
        ge=1,
        description="How many Kustomizations, as far as `fluxObjects` allows; Flux builds one at a time, so a tenant's "
        "push waits for those of another.",
    )
    quota: dict[QuotaResource, Quantity] = Field(
        default_factory=dict,
        description="`hard` of a ResourceQuota, e.g. `requests.cpu: 4`, `pods: 50`; a Pod has to state what a quota "
        "is for.",
    )
    objects: dict[QuotaResource, Annotated[int, Field(ge=0)] | None] = Field(
        default_factory=dict,
        description="Other numbers of objects of Kubernetes' own kinds than those in docs/tenants.md, by resource, "
        "e.g. `secrets: 2000`, `jobs.batch: 50`; null counts none of that kind.",
    )
    containers: ContainerLimits = Field(
        default_factory=ContainerLimits,
        description="What a container gets that states no requests or limits, and the most that it may have; nothing "
        "where left out, since Pods that run well without would be throttled or killed.",
    )

    @property
    def most_kustomizations(self) -> int:
        """How many Kustomizations of its own a tenant may have in a namespace."""
        return min(self.kustomizations, self.flux_objects)


class TenantNetwork(StrEnum):
    """What Pods of a tenant may talk to, where the cluster's network heeds NetworkPolicies."""

    NONE = "none"
    DEFAULT_DENY = "default-deny"


class TenancyConfig(Section):
    """What holds for all tenants of the stack."""

    limits: TenantLimits = Field(
        default_factory=TenantLimits, description="How much a tenant may have, in each of its namespaces."
    )
    network_policy: TenantNetwork = Field(
        TenantNetwork.NONE,
        description="Let Pods of tenants that the stack lists talk to anything (`none`), or to the tenant's own "
        "namespaces and DNS alone (`default-deny`); no tenant can open that itself (docs/tenants.md).",
    )
    extra_rules: tuple[PolicyRule, ...] = Field(
        (), description="Rules added to the tenant role, e.g. for the platform's own custom resources."
    )
    service_account_name: ServiceAccountName | None = Field(
        None,
        description="Name of the service account as which Flux applies what is a tenant's, e.g. `flux`; that of the "
        "tenant where left out.",
    )
    settle_timeout: Duration = Field(
        "60s",
        description="How long `pulumi up` waits for Flux's answer about each sync that the update concerns, and at "
        "most 10 s of it about all others; a tenant that is not ready by then is reported and never fails the update.",
    )
    offboarding_timeout: Duration = Field(
        "5m",
        description="How long `pulumi up` waits for each namespace of a tenant that is removed, and for Flux to prune "
        "on top of `sync.timeout`; then the tenant's access goes first (docs/tenants.md).",
    )


class PodSecurity(StrEnum):
    """Pod Security Standards. Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/"""

    RESTRICTED = "restricted"
    BASELINE = "baseline"
    PRIVILEGED = "privileged"


class NamespaceConfig(Section):
    """A namespace that belongs to the tenant."""

    name: NamespaceName = Field(description="Name; a namespace of the cluster belongs to one tenant at most.")
    pod_security: PodSecurity = Field(
        PodSecurity.RESTRICTED, description="Pod Security Standard that is enforced and warned about."
    )
    labels: dict[str, str] = Field(
        default_factory=dict,
        description="More labels, e.g. a cost centre; none that the platform sets itself.",
    )
    annotations: dict[str, str] = Field(
        default_factory=dict, description="More annotations; none that the platform sets itself."
    )

    @field_validator("labels", "annotations")
    @classmethod
    def _free_keys(cls, entries: dict[str, str]) -> dict[str, str]:
        if taken := [key for key in entries if key.startswith(PROTECTED_LABEL_PREFIXES)]:
            raise ValueError(f"sets {', '.join(taken)}, which the platform sets itself; use podSecurity and the like")
        return entries


class SyncConfig(Reconciliation):
    """How the tenant's repository is applied. Source: https://fluxcd.io/flux/components/kustomize/kustomizations/"""

    path: RepositoryPath = Field("./", description="Folder of the repository to apply.")
    target_namespace: NamespaceName | None = Field(
        None,
        description="Namespace that every object of the repository is put into; one of the tenant's own.",
    )
    deletion_policy: Literal["MirrorPrune", "Delete", "WaitForTermination", "Orphan"] = Field(
        "WaitForTermination",
        description="What becomes of the applied objects when the tenant is removed: they are deleted and "
        "awaited, deleted, left (`Orphan`), or as `prune` says (`MirrorPrune`).",
    )


class Role(StrEnum):
    """What a tenant may do in its namespaces: the project's own role, or that of Kubernetes by this name."""

    TENANT = "tenant"
    ADMIN = "admin"
    CLUSTER_ADMIN = "cluster-admin"


class TenantConfig(Section):
    """A tenant as one environment has it: its base file with the stack's entry laid over it."""

    namespaces: tuple[NamespaceConfig, ...] = Field(
        min_length=1,
        description="Namespaces of the tenant; the first is its home, where source and sync live.",
    )
    source: Annotated[GitSource, Field(description="Where the tenant's manifests come from.")]
    sync: SyncConfig = Field(default_factory=SyncConfig, description="How they are applied.")
    role: Role = Field(
        Role.TENANT,
        description="Cluster role that is bound to the tenant's service account in each of its namespaces.",
    )
    service_account_name: ServiceAccountName | None = Field(
        None,
        description="Name of the service account as which Flux applies what is the tenant's; "
        "`tenancy.serviceAccountName`, or else the tenant's own name, where left out.",
    )
    policies: TenantPolicies = Field(
        default_factory=TenantPolicies, description="What it may have beyond what all tenants may."
    )

    @property
    def home(self) -> str:
        return self.namespaces[0].name

    @property
    def namespace_names(self) -> tuple[str, ...]:
        return tuple(namespace.name for namespace in self.namespaces)

    @model_validator(mode="after")
    def _own_namespaces(self) -> TenantConfig:
        names = self.namespace_names
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise MisplacedValueError(("namespaces",), f"lists {', '.join(twice)} twice")
        target = self.sync.target_namespace
        if target is not None and target not in names:
            raise MisplacedValueError(
                ("sync", "targetNamespace"),
                f"{target!r} is none of the tenant's namespaces: {', '.join(names)}",
            )
        return self
