"""The `tenancy` section, and a tenant in one environment."""

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
from components.tenant.config_wordings import DUPLICATE_NAMESPACE, FOREIGN_TARGET_NAMESPACE, PROTECTED_LABELS
from components.tenant.types import QuotaResource, ServiceAccountName


class TenantPolicies(Section):
    """What a tenant may use in addition to what all tenants may."""

    sources: tuple[SourcePatternText, ...] = Field(
        (), description="URL patterns of its sources, in addition to `policies.sources.allowed`."
    )
    images: tuple[ImagePatternText, ...] = Field(
        (), description="Image repositories that it may run, in addition to `policies.images.allowed`."
    )
    verified: tuple[VerifiedKind, ...] = Field(
        (), description="Kinds whose content must be verified, in addition to `policies.sources.verified`."
    )
    notifications: tuple[HostPatternText, ...] = Field(
        (), description="Hosts that its notifications may go to, in addition to `policies.notifications.hosts`."
    )
    hosts: tuple[HostPattern, ...] = Field(
        (), description="Host names of its Ingresses, in addition to `policies.ingress.hosts`."
    )


# Labels that decide what a tenant may do; they are set by typed keys only.
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

    api_groups: tuple[str, ...] = Field(description="API groups; the core group is the empty string.")
    resources: tuple[str, ...] = Field(
        min_length=1, description="Resources by their plural names, e.g. `certificates`."
    )
    verbs: tuple[str, ...] = Field(min_length=1, description="What is allowed, e.g. `get`, `list`, `watch`, `create`.")
    resource_names: tuple[str, ...] = Field((), description="Names of the objects; defaults to all.")


class ContainerLimits(Section):
    """The LimitRange of a tenant's namespaces.

    Source: https://kubernetes.io/docs/concepts/policy/limit-range/
    """

    requests: dict[QuotaResource, Quantity] = Field(
        default_factory=dict, description="Default requests of a container, e.g. `cpu: 50m`."
    )
    limits: dict[QuotaResource, Quantity] = Field(
        default_factory=dict, description="Default limits of a container, e.g. `memory: 256Mi`."
    )
    maximum: dict[QuotaResource, Quantity] = Field(
        default_factory=dict, description="The highest limit of a container, e.g. `memory: 4Gi`."
    )


class TenantLimits(Section):
    """Limits for each namespace of a tenant."""

    flux_objects: int = Field(
        100,
        ge=1,
        description="Maximum number of objects of each of Flux's kinds: GitRepositories, HelmReleases and so on.",
    )
    # kustomize-controller builds one at a time, so this many can be queued ahead of another tenant's: docs/tenants.md.
    kustomizations: int = Field(
        5,
        ge=1,
        description="Maximum number of Kustomizations, at most `fluxObjects`; Flux builds one at a time, so a tenant's "
        "push waits for those of others.",
    )
    quota: dict[QuotaResource, Quantity] = Field(
        default_factory=dict,
        description="`hard` of a ResourceQuota, e.g. `requests.cpu: 4`, `pods: 50`; Pods have to set the requests and "
        "limits that a quota covers.",
    )
    objects: dict[QuotaResource, Annotated[int, Field(ge=0)] | None] = Field(
        default_factory=dict,
        description="Maximum numbers of objects of Kubernetes' own kinds that differ from those in docs/tenants.md, by "
        "resource, e.g. `secrets: 2000`, `jobs.batch: 50`; null for no limit.",
    )
    containers: ContainerLimits = Field(
        default_factory=ContainerLimits,
        description="Default requests and limits of containers, and their maximum; none by default, since limits could "
        "throttle or kill Pods that run well without them.",
    )

    @property
    def most_kustomizations(self) -> int:
        """How many Kustomizations a tenant may have in a namespace."""
        return min(self.kustomizations, self.flux_objects)


class TenantNetwork(StrEnum):
    """What Pods of a tenant may connect to, if the cluster's network enforces NetworkPolicies."""

    NONE = "none"
    DEFAULT_DENY = "default-deny"


class TenancyConfig(Section):
    """Settings for all tenants of the stack."""

    limits: TenantLimits = Field(default_factory=TenantLimits, description="Limits for each namespace of a tenant.")
    network_policy: TenantNetwork = Field(
        TenantNetwork.NONE,
        description="What Pods of the stack's tenants may connect to: anything (`none`), or only the tenant's own "
        "namespaces and DNS (`default-deny`); a tenant cannot change that itself (docs/tenants.md).",
    )
    extra_rules: tuple[PolicyRule, ...] = Field(
        (), description="Additional rules of the tenant role, e.g. for the platform's own custom resources."
    )
    service_account_name: ServiceAccountName | None = Field(
        None,
        description="Name of the service account that Flux impersonates for a tenant, e.g. `flux`; defaults to the "
        "tenant's name.",
    )
    settle_timeout: Duration = Field(
        "60s",
        description="How long `pulumi up` waits for Flux to reconcile each sync that the update changes, and at most "
        "10 s of it for all others; a tenant that is not ready by then is reported and never fails the update.",
    )
    offboarding_timeout: Duration = Field(
        "5m",
        description="How long `pulumi up` waits for the deletion of each namespace of a removed tenant, and for Flux "
        "to prune in addition to `sync.timeout`; after that, the tenant's access is removed first (docs/tenants.md).",
    )


class PodSecurity(StrEnum):
    """Pod Security Standards. Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/"""

    RESTRICTED = "restricted"
    BASELINE = "baseline"
    PRIVILEGED = "privileged"


class NamespaceConfig(Section):
    """A namespace that belongs to the tenant."""

    name: NamespaceName = Field(description="Name; a namespace belongs to at most one tenant.")
    pod_security: PodSecurity = Field(
        PodSecurity.RESTRICTED, description="Pod Security Standard that is enforced and warned about."
    )
    labels: dict[str, str] = Field(
        default_factory=dict,
        description="Additional labels, e.g. a cost center; none that the platform sets itself.",
    )
    annotations: dict[str, str] = Field(
        default_factory=dict, description="Additional annotations; none that the platform sets itself."
    )

    @field_validator("labels", "annotations")
    @classmethod
    def _free_keys(cls, entries: dict[str, str]) -> dict[str, str]:
        if taken := [key for key in entries if key.startswith(PROTECTED_LABEL_PREFIXES)]:
            raise ValueError(PROTECTED_LABELS(keys=", ".join(taken)))
        return entries


class SyncConfig(Reconciliation):
    """How the tenant's repository is applied. Source: https://fluxcd.io/flux/components/kustomize/kustomizations/"""

    path: RepositoryPath = Field("./", description="Folder of the repository to apply.")
    target_namespace: NamespaceName | None = Field(
        None,
        description="Namespace for all objects of the repository; one of the tenant's own.",
    )
    deletion_policy: Literal["MirrorPrune", "Delete", "WaitForTermination", "Orphan"] = Field(
        "WaitForTermination",
        description="What happens to the applied objects when the tenant is removed: delete and wait, delete, keep "
        "(`Orphan`), or as `prune` says (`MirrorPrune`).",
    )


class Role(StrEnum):
    """What a tenant may do in its namespaces: the project's own role, or Kubernetes' role of that name."""

    TENANT = "tenant"
    ADMIN = "admin"
    CLUSTER_ADMIN = "cluster-admin"


class TenantState(StrEnum):
    """Whether a tenant is to stay."""

    ACTIVE = "active"
    LEAVING = "leaving"


class TenantConfig(Section):
    """A tenant in one environment: its base file, merged with the stack's entry."""

    namespaces: tuple[NamespaceConfig, ...] = Field(
        min_length=1,
        description="Namespaces of the tenant; the first is its home, which holds source and sync.",
    )
    source: Annotated[GitSource, Field(description="Where the tenant's manifests come from.")]
    sync: SyncConfig = Field(default_factory=SyncConfig, description="How they are applied.")
    role: Role = Field(
        Role.TENANT,
        description="Cluster role, bound to the tenant's service account in each of its namespaces.",
    )
    service_account_name: ServiceAccountName | None = Field(
        None,
        description="Name of the service account that Flux impersonates for this tenant; defaults to "
        "`tenancy.serviceAccountName`, or else the tenant's name.",
    )
    policies: TenantPolicies = Field(
        default_factory=TenantPolicies, description="What it may use in addition to what all tenants may."
    )
    state: TenantState = Field(
        TenantState.ACTIVE,
        description="`leaving` is the first step of an offboarding: the sync, which prunes, and all access go; "
        "the namespaces stay with what is left in them until the tenant is removed (docs/tenants.md).",
    )

    @property
    def is_leaving(self) -> bool:
        return self.state is TenantState.LEAVING

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
            raise MisplacedValueError(("namespaces",), DUPLICATE_NAMESPACE(names=", ".join(twice)))
        target = self.sync.target_namespace
        if target is not None and target not in names:
            raise MisplacedValueError(
                ("sync", "targetNamespace"),
                FOREIGN_TARGET_NAMESPACE(namespaces=", ".join(names)).of(target),
            )
        return self
