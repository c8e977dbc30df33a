"""The sections of tenants: what each of them has in one environment, and the settings for all of them (`tenancy`)."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from flux_tenancy.components.allowlists.entries import (
    HostPatternText,
    ImagePatternText,
    IngressHost,
    SourcePatternText,
    VerifiedKind,
)
from flux_tenancy.components.config.errors import BEYOND, TWICE, UNKNOWN, MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import (
    ClusterName,
    DnsLabel,
    Duration,
    Network,
    ServiceAccountName,
    TaintKey,
    seconds,
)
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.sources.config import Source
from flux_tenancy.components.sync.kustomization import Reconciliation
from flux_tenancy.components.sync.notifications import Notification
from flux_tenancy.components.tenant.capsule.config import CapsuleLimits, CapsuleTenancy, TenancyMode
from flux_tenancy.components.tenant.freezes import Freeze, StackFreeze
from flux_tenancy.components.tenant.grants import CustomGroup, Grant
from flux_tenancy.components.tenant.limits import TenantLimits, TenantStore
from flux_tenancy.components.tenant.namespaces import NamespaceConfig
from flux_tenancy.components.tenant.network import NetworkOpenings, TenantNetwork
from flux_tenancy.components.tenant.people import TenancyPeople, TenantPeople
from flux_tenancy.components.tenant.releases import ReleaseConfig, ReleaseName
from flux_tenancy.components.tenant.role import (
    OpenedKind,
    PolicyRule,
    Role,
    TenantRole,
)
from flux_tenancy.components.tenant.syncs import FurtherSync, TenantSync
from flux_tenancy.components.vocabulary.names import DEFAULT_LANE

_SHORTEST_TOKEN_LIFETIME = "1h"


def _token_lifetime(duration: str) -> str:
    if seconds(duration) < seconds(_SHORTEST_TOKEN_LIFETIME):
        raise ValueError(
            BEYOND(
                beyond="shorter",
                bound="what Kubernetes requests for every pod",
                most=_SHORTEST_TOKEN_LIFETIME,
                within="more",
            )
        )
    return duration


TokenLifetime = Annotated[Duration, AfterValidator(_token_lifetime)]


class TenantBounds(Section):
    """Bounds of the policies for one tenant; those that are not set are those of the stack."""

    minimum_interval: Duration | None = Field(None, description="Instead of `policies.minimumInterval`.")
    maximum_timeout: Duration | None = Field(None, description="Instead of `policies.maximumTimeout`.")
    maximum_release_size: int | None = Field(None, ge=1, le=1024, description="Instead of the stack's, in KiB.")
    maximum_termination_grace_period: Duration | None = Field(
        None, description="Instead of `policies.maximumTerminationGracePeriod`."
    )
    maximum_token_lifetime: TokenLifetime | None = Field(
        None, description="Instead of `policies.maximumTokenLifetime`."
    )
    blocking_disruption_budgets: bool | None = Field(
        None, description="Instead of `policies.blockingDisruptionBudgets`."
    )


FOREIGN_TARGET_NAMESPACE = partial(UNKNOWN, what="a namespace of the tenant")


class TenantPolicies(TenantBounds):
    """A tenant's additions to the allow-lists of all tenants, and its own bounds."""

    kinds: tuple[OpenedKind, ...] = Field(
        (), description="Kinds that the tenant may write, in addition to `tenancy.kinds`."
    )

    sources: tuple[SourcePatternText, ...] = Field(
        (), description="URL patterns for sources, in addition to `policies.sources.allowed`."
    )
    images: tuple[ImagePatternText, ...] = Field(
        (), description="Repositories of containers' images, in addition to `policies.images.allowed`."
    )
    verified: tuple[VerifiedKind, ...] = Field(
        (), description="Kinds that must be signed, in addition to `policies.sources.verified`."
    )
    notifications: tuple[HostPatternText, ...] = Field(
        (), description="Hosts for notifications, in addition to `policies.notifications.hosts`."
    )
    hosts: tuple[IngressHost, ...] = Field(
        (), description="Host names of Ingresses, routes and certificates, in addition to `policies.ingress.hosts`."
    )
    priority_classes: tuple[ClusterName, ...] = Field(
        (), description="In addition to the stack's `policies.priorityClasses`."
    )
    tolerations: tuple[TaintKey, ...] = Field(
        (), description="In addition to the stack's `policies.tolerations` or its default."
    )
    storage_classes: tuple[ClusterName, ...] = Field(
        (), description="In addition to the stack's `policies.storageClasses`; if that is empty, only these."
    )
    csi_drivers: tuple[ClusterName, ...] = Field((), description="In addition to the stack's `policies.csiDrivers`.")


class SyncConfig(TenantSync, Reconciliation):
    """How the tenant's repository is applied. Source: https://fluxcd.io/flux/components/kustomize/kustomizations/"""


class TenantState(StrEnum):
    """Whether a tenant stays or is leaving."""

    ACTIVE = "active"
    LEAVING = "leaving"


def _without_null(schema: dict[str, Any]) -> None:
    """Leave null out of the schema of an optional section, so that editors mark the very key that is wrong in it."""
    schema |= schema.pop("anyOf")[0]


class TenantConfig(Section):
    """A tenant in one environment: its base file, merged with the stack's entry."""

    namespaces: tuple[NamespaceConfig, ...] = Field(
        min_length=1, description="Namespaces of the tenant; the first is its home, with its source and sync."
    )
    source: GitSource | None = Field(
        None,
        json_schema_extra=_without_null,
        description=(
            "Git repository of the manifests; required unless `sync.source` names another source, or there "
            "are only `releases`."
        ),
    )
    sources: dict[DnsLabel, Source] = Field(
        default_factory=dict, description="Further sources in the tenant's home, by name (docs/syncs.md#sources)."
    )
    sync: SyncConfig = Field(default_factory=SyncConfig, description="How the manifests are applied.")
    syncs: dict[DnsLabel, FurtherSync] = Field(
        default_factory=dict,
        description="Further folders to apply, by the names of their Kustomizations (docs/syncs.md).",
    )
    releases: dict[ReleaseName, ReleaseConfig] = Field(
        default_factory=dict, description="Helm releases, by the names of their HelmReleases (docs/syncs.md#releases)."
    )
    role: TenantRole = Field(
        Role.TENANT, description="Cluster role, bound to the tenant's service account in each of its namespaces."
    )
    lane: DnsLabel | None = Field(
        None,
        description="Lane in `flux.lanes` whose controllers serve the tenant; with lanes, defaults to "
        f"`{DEFAULT_LANE}` (docs/sizing.md#lanes).",
    )
    service_account_name: ServiceAccountName | None = Field(
        None,
        description=(
            "Service account that Flux impersonates; defaults to `tenancy.serviceAccountName`, or "
            "else the tenant's name."
        ),
    )
    token_accounts: tuple[ServiceAccountName, ...] = Field(
        (),
        description=(
            "Service accounts with which the tenant's own Flux objects log in to a cloud "
            "(docs/lockdown.md#tokens-since-flux-210)."
        ),
    )
    notifications: dict[DnsLabel, Notification] = Field(
        default_factory=dict,
        description=(
            "Notifications about Flux's events in the tenant's namespaces, by name (docs/syncs.md#notifications)."
        ),
    )
    policies: TenantPolicies = Field(
        default_factory=TenantPolicies,
        description="Additions to the allow-lists of all tenants, and bounds instead of those in `policies`.",
    )
    grants: tuple[Grant, ...] = Field(
        (), description="Additional rights of this tenant, each with a reason (docs/grants.md)."
    )
    freeze: tuple[Freeze, ...] = Field(
        (), description="Times in which the tenant's changes are refused (docs/running.md#freezes)."
    )
    network: NetworkOpenings = Field(
        default_factory=NetworkOpenings, description="Openings in `tenancy.networkPolicy` (docs/grants.md#network)."
    )
    people: TenantPeople = Field(
        default_factory=TenantPeople,
        description="Users and groups with access to the tenant's namespaces (docs/grants.md#people).",
    )
    limits: TenantLimits = Field(
        default_factory=TenantLimits,
        description="Limits for each namespace of this tenant, where they differ from `tenancy.limits`.",
    )
    capsule: CapsuleLimits = Field(
        default_factory=CapsuleLimits,
        description="Capsule's limits for this tenant, where they differ from `tenancy.capsule` (docs/capsule.md).",
    )
    state: TenantState = Field(
        TenantState.ACTIVE,
        description="`leaving` is the first step of an offboarding (docs/tenants.md#offboarding-in-two-steps).",
    )

    @property
    def is_leaving(self) -> bool:
        return self.state is TenantState.LEAVING

    @property
    def home(self) -> str:
        return self.namespaces[0].name

    @property
    def has_syncs(self) -> bool:
        """Whether Flux applies folders for the tenant; one that has nothing but releases needs none."""
        given = "sync" in self.model_fields_set or self.source is not None or bool(self.syncs)
        return given or not self.releases

    def all_syncs(self, tenant: str) -> dict[str, TenantSync]:
        """Every sync of the tenant with this name, by the names of their Kustomizations."""
        return {tenant: self.sync, **self.syncs} if self.has_syncs else {}

    @property
    def namespace_names(self) -> tuple[str, ...]:
        return tuple(namespace.name for namespace in self.namespaces)

    @property
    def repository_url(self) -> str | None:
        """URL of the Git repository that the tenant's sync applies, or of its own; None if it has neither."""
        applied = self.sources.get(self.sync.source or "", self.source)
        repository = applied if isinstance(applied, GitSource) else self.source
        return repository.url if repository is not None else None

    @property
    def git_sources(self) -> dict[str | None, GitSource]:
        """The tenant's Git repositories by name; None for `source`."""
        own: dict[str | None, GitSource] = {None: self.source} if self.source is not None else {}
        return own | {name: each for name, each in self.sources.items() if isinstance(each, GitSource)}

    @property
    def delegated_namespaces(self) -> tuple[str, ...]:
        """The namespaces in which Flux applies everything as the account of a team below the tenant."""
        return tuple(namespace.name for namespace in self.namespaces if namespace.delegated_to is not None)

    def limits_in(self, namespace: str, defaults: TenantLimits) -> TenantLimits:
        """The limits of a namespace, also of one that the tenant makes itself."""
        limits = self.limits.over(defaults)
        return next((each.limits.over(limits) for each in self.namespaces if each.name == namespace), limits)

    def grants_in(self, namespace: str) -> tuple[Grant, ...]:
        """The grants that hold in a namespace: none in a delegated one, whose team they would pass to."""
        return () if namespace in self.delegated_namespaces else self.grants

    @model_validator(mode="after")
    def _own_namespaces(self) -> TenantConfig:
        names = self.namespace_names
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise MisplacedValueError(("namespaces",), TWICE(what=", ".join(twice)))
        if self.namespaces[0].delegated_to is not None:
            raise MisplacedValueError(
                ("namespaces", 0, "delegatedTo"),
                Message(
                    "FT-TEN-420",
                    "is the tenant's home, where Flux applies everything as the tenant's own account",
                    "delegate another namespace",
                ),
            )
        target = self.sync.target_namespace
        if target is not None and target not in names:
            raise MisplacedValueError(
                ("sync", "targetNamespace"), FOREIGN_TARGET_NAMESPACE(choices=", ".join(names)).of(target)
            )
        return self


class TenancyConfig(Section):
    """Settings for all tenants of the stack."""

    mode: TenancyMode = Field(
        TenancyMode.NAMESPACES,
        description=(
            "Who creates tenants' namespaces: only the stack, or also the tenants, within Capsule's "
            "limits (docs/capsule.md)."
        ),
    )
    capsule: CapsuleTenancy = Field(
        default_factory=CapsuleTenancy, description="Capsule's limits for each tenant (docs/capsule.md)."
    )
    limits: TenantLimits = Field(
        default_factory=TenantLimits,
        description="Limits for each namespace of a tenant, unless the tenant or the namespace has its own.",
    )
    store: TenantStore = Field(
        default_factory=TenantStore, description="How much tenants may store (docs/sizing.md#what-tenants-can-store)."
    )
    request_shares: int | None = Field(
        None,
        ge=1,
        le=1000,
        description=(
            "Shares of the API server's parallel requests for the accounts of all tenants, e.g. `4`, which "
            "is 1.6 %; by default, unbounded (docs/sizing.md#parallel-requests)."
        ),
    )
    maximum_limits: TenantLimits = Field(
        default_factory=TenantLimits, description="Highest values of `limits` of tenants and namespaces."
    )
    network_policy: TenantNetwork = Field(
        TenantNetwork.NONE,
        description="Connections of tenants' Pods: any, or only to the tenant's own namespaces and DNS.",
    )
    protected_networks: tuple[Network, ...] = Field(
        (),
        description=(
            "Networks, e.g. of the API server and the nodes, that `network.egress` may not include, besides "
            "link-local and metadata addresses (docs/grants.md#network)."
        ),
    )
    extra_rules: tuple[PolicyRule, ...] = Field(
        (),
        description="Additional rules of the tenant role; those that allow more than reading need `grantableGroups`.",
    )
    grantable_groups: tuple[CustomGroup, ...] = Field(
        (),
        description=(
            "API groups that `grants` and `extraRules` may give rights over, e.g. `cert-manager.io` (docs/grants.md)."
        ),
    )
    kinds: tuple[OpenedKind, ...] = Field(
        (),
        description=(
            "Further kinds that tenants may write, e.g. `Alert` or `certificates.cert-manager.io` "
            "(docs/tenants.md#kinds-of-objects)."
        ),
    )
    people: TenancyPeople = Field(
        default_factory=TenancyPeople, description="Rights of tenants' people (docs/grants.md#people)."
    )
    service_account_name: ServiceAccountName | None = Field(
        None,
        description="Service account that Flux impersonates for a tenant, e.g. `flux`; defaults to the tenant's name.",
    )
    notifications: dict[DnsLabel, Notification] = Field(
        default_factory=dict,
        description=(
            "Notifications to the platform team about every tenant, by name, without credentials "
            "(docs/syncs.md#messages-to-the-platform)."
        ),
    )
    freeze: tuple[StackFreeze, ...] = Field(
        (), description="Times in which changes of all tenants are refused (docs/running.md#freezes)."
    )
    settle_timeout: Duration = Field(
        "60s",
        description=(
            "How long `pulumi up` waits for each sync that it changes (others: at most 10 s). Tenants that "
            "are not ready then are a warning."
        ),
    )
    offboarding_timeout: Duration = Field(
        "5m",
        description=(
            "How long `pulumi up` waits for the deletion of a removed tenant's namespace, and for Flux to "
            "prune in addition to `sync.timeout` (docs/tenants.md#offboarding)."
        ),
    )

    @model_validator(mode="after")
    def _no_shared_credentials(self) -> TenancyConfig:
        for name, notification in self.notifications.items():
            for key in notification.credentials:
                raise MisplacedValueError(
                    ("notifications", name, key),
                    Message(
                        "FT-MSG-020",
                        "would be in the namespace of each tenant, where the tenant can read it",
                        "send messages to a receiver of the cluster that needs no credential, such as Alertmanager",
                    ),
                )
        return self
