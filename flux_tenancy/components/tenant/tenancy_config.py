"""The `tenancy` section: settings for all tenants of a stack."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import Field, model_validator

from flux_tenancy.components.config.allowances import Allows
from flux_tenancy.components.config.errors import MisplacedValueError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import (
    ContainerResource,
    CountedResource,
    DnsLabel,
    Duration,
    Network,
    Quantity,
    QuotaResource,
    ServiceAccountName,
)
from flux_tenancy.components.sync.notifications import Notification
from flux_tenancy.components.tenant.annotations import KINDS
from flux_tenancy.components.tenant.capsule.config import CapsuleTenancy
from flux_tenancy.components.tenant.freezes import StackFreeze
from flux_tenancy.components.tenant.grants import CustomGroup
from flux_tenancy.components.tenant.kinds import OPENED_KINDS, OpenedKind, resources_of
from flux_tenancy.components.tenant.people import TenancyPeople
from flux_tenancy.components.tenant.role import PolicyRule, open_resources, resources_of_rules
from flux_tenancy.components.vocabulary.manifests import DISK, parse_quantity

# 110 pods of a node reserve 7 GiB. A volume of its own is for more than the maximum.
_DISK_OF_A_CONTAINER = {"requests": "64Mi", "limits": "4Gi", "maximum": "16Gi"}
_Bounds = dict[ContainerResource, Quantity | None]


class ContainerLimits(Section):
    """The LimitRange of a tenant's namespaces. Source: https://kubernetes.io/docs/concepts/policy/limit-range/"""

    requests: _Bounds = Field(default_factory=dict, description="Default requests of a container, e.g. `cpu: 50m`.")
    limits: _Bounds = Field(default_factory=dict, description="Default limits of a container, e.g. `memory: 256Mi`.")
    maximum: _Bounds = Field(default_factory=dict, description="The highest limit of a container, e.g. `memory: 4Gi`.")
    minimum: _Bounds = Field(default_factory=dict, description="The lowest request of a container, e.g. `cpu: 10m`.")

    @property
    def whole(self) -> dict[str, dict[str, str]]:
        """The resources of each bound, from the lowest to the highest, with those of the disk that are not set."""
        whole = {name: dict(getattr(self, name)) for name in ("minimum", "requests", "limits", "maximum")}
        given = [(name, value) for name, each in whole.items() if (value := each.get(DISK)) is not None]
        names = list(whole)
        for name, default in _DISK_OF_A_CONTAINER.items():
            below = (value for other, value in given if names.index(other) < names.index(name))
            above = (value for other, value in given if names.index(other) > names.index(name))
            least = max((default, *below), key=parse_quantity)
            whole[name].setdefault(DISK, min((least, *above), key=parse_quantity))
        return {name: {key: value for key, value in each.items() if value is not None} for name, each in whole.items()}


class TenantLimits(Section):
    """Limits for each namespace of a tenant."""

    flux_objects: int = Field(
        100, ge=1, description="Maximum number of objects of each of Flux's kinds, and of the three keys below."
    )
    # kustomize-controller builds one at a time, so this many can be queued ahead of another tenant's: docs/tenants.md.
    kustomizations: int = Field(5, ge=1, description="Maximum number of Kustomizations.")
    # Each may occupy a worker until its timeout, and a release that is in progress keeps its chart in memory.
    helm_releases: int = Field(16, ge=1, description="Maximum number of HelmReleases.")
    # Each may occupy a worker until its timeout, also one whose repository is slow to read or to filter.
    sources: int = Field(
        16,
        ge=1,
        description="Maximum number of sources of each kind, and of HelmCharts, if higher than `helmReleases`.",
    )
    quota: dict[QuotaResource, Quantity] = Field(
        default_factory=dict,
        description=(
            "`hard` of a ResourceQuota, e.g. `requests.cpu: 4`, `pods: 50`; Pods have to set what a quota covers."
        ),
    )
    objects: dict[CountedResource, Annotated[int, Field(ge=0)] | None] = Field(
        default_factory=dict,
        description=(
            "Maximum numbers by resource, e.g. `secrets: 2000`, `jobs.batch: 50`; null for no limit. "
            "Defaults: docs/tenants.md#limits."
        ),
    )
    containers: ContainerLimits = Field(
        default_factory=ContainerLimits,
        description=(
            "Default requests and limits of containers, and their bounds; by default, only of "
            "`ephemeral-storage` (docs/sizing.md#disks-of-nodes). Null for none."
        ),
    )

    def over(self, defaults: TenantLimits) -> TenantLimits:
        """These limits, and the defaults where these set none."""
        return _over(defaults, self)

    @property
    def most_kustomizations(self) -> int:
        """How many Kustomizations a tenant may have in a namespace."""
        return min(self.kustomizations, self.flux_objects)

    @property
    def most_helm_releases(self) -> int:
        """How many HelmReleases a tenant may have in a namespace."""
        return min(self.helm_releases, self.flux_objects)

    @property
    def most_sources(self) -> int:
        """How many sources of each kind a tenant may have in a namespace."""
        return min(self.sources, self.flux_objects)

    @property
    def most_charts(self) -> int:
        """How many HelmCharts there may be in a namespace: helm-controller creates one for each HelmRelease."""
        return max(self.most_sources, self.most_helm_releases)


_Limits = TypeVar("_Limits", TenantLimits, ContainerLimits)


def _over(defaults: _Limits, own: _Limits) -> _Limits:
    changed = {}
    for name in own.model_fields_set:
        default, value = getattr(defaults, name), getattr(own, name)
        if isinstance(value, ContainerLimits):
            value = _over(default, value)
        changed[name] = {**default, **value} if isinstance(value, dict) else value
    return defaults.model_copy(update=changed)


class TenantStore(Section):
    """How much tenants may store in the cluster's etcd (docs/sizing.md#what-tenants-can-store)."""

    total: Quantity | None = Field(
        None, description="How much all tenants together may store, e.g. `1Gi`; warns if their limits allow more."
    )
    namespace: Quantity | None = Field(
        None,
        description=(
            "How much a namespace may store, e.g. `128Mi`: lowers the default numbers of "
            "`limits.objects` and `limits.fluxObjects` in proportion."
        ),
    )


class TenantNetwork(StrEnum):
    """Allowed connections of a tenant's Pods, if the cluster's network enforces NetworkPolicies."""

    NONE = "none"
    DEFAULT_DENY = "default-deny"


class TenancyMode(StrEnum):
    """Who creates tenants' namespaces."""

    NAMESPACES = "namespaces"
    CAPSULE = "capsule"


# HelmChart is open to all, and in the list it opens charts from Git and Buckets.
_OPENS = Allows(
    "write objects of the kind {}, if a role allows it,",
    always=frozenset(open_resources()).difference(resources_of(OPENED_KINDS)),
)


def _resources_of_rules(rules: Any) -> tuple[str, ...]:
    return resources_of_rules(map(PolicyRule.model_validate, rules))


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
    extra_rules: Annotated[tuple[PolicyRule, ...], replace(_OPENS, read=_resources_of_rules)] = Field(
        (),
        description="Additional rules of the tenant role; those that allow more than reading need `grantableGroups`.",
    )
    grantable_groups: tuple[CustomGroup, ...] = Field(
        (),
        description=(
            "API groups that `grants` and `extraRules` may give rights over, e.g. `cert-manager.io` (docs/grants.md)."
        ),
    )
    kinds: Annotated[tuple[OpenedKind, ...], replace(_OPENS, own=KINDS, read=resources_of)] = Field(
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
