"""The configuration of a stack, typed once: checks, schemas and reference are derived from it."""

from __future__ import annotations

import re
from datetime import date
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PrivateAttr, WithJsonSchema, field_validator

from flux_tenancy.components.cluster.config import ClusterConfig
from flux_tenancy.components.config.errors import UNKNOWN, KeyPath, Problem, dotted
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import EXPIRED, DnsLabel, Duration, LastDay, Reason, TenantName, WebUrl, today
from flux_tenancy.components.git.config import GitConfig, GitHubConfig, GitSource, Sources
from flux_tenancy.components.installs.capsule import CapsuleConfig
from flux_tenancy.components.installs.flux.config import FluxConfig
from flux_tenancy.components.installs.kyverno import KyvernoConfig
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.sources.config import SharedSource, has_status
from flux_tenancy.components.sync.decryption import Decryption
from flux_tenancy.components.sync.kustomization import Reconciliation
from flux_tenancy.components.tenant.capsule.config import TenancyMode
from flux_tenancy.components.tenant.config import TenancyConfig, TenantBounds, TenantConfig
from flux_tenancy.components.tenant.freezes import freezes_of
from flux_tenancy.components.tenant.limits import LargestObjects, with_network_policies, within
from flux_tenancy.components.tenant.role import NETWORK_POLICIES, ROLES
from flux_tenancy.components.tenant.scope import further_source_meta, source_meta
from flux_tenancy.components.vocabulary.manifests import Manifest, ResourceTable, parse_quantity
from flux_tenancy.components.vocabulary.names import PLATFORM_META, SOURCE_API

_KIB = 1024
# The API server refuses what is larger: etcd's `--max-request-bytes`.
_OF_ETCD = 1536 * _KIB


def largest_objects(config: PoliciesConfig, own: TenantBounds | None = None) -> LargestObjects:
    """How large an object may be, by its kind; where no policy bounds it, as etcd accepts it."""
    sizes = config.maximum_sizes
    release = (own.maximum_release_size if own else None) or config.maximum_release_size
    # Base64 has four characters for three bytes; `object` bounds the rest of a release's Secret.
    stored_release = -(-release // 3) * 4 + sizes.object
    if config.engine is PolicyEngine.NONE or config.mode_of(PolicyName("object-size")) is not PolicyMode.ENFORCE:
        return LargestObjects(_OF_ETCD, _OF_ETCD, _OF_ETCD)
    if config.mode_of(PolicyName.RELEASE_SIZE) is not PolicyMode.ENFORCE:
        stored_release = _OF_ETCD // _KIB
    return LargestObjects(sizes.data * _KIB, max(sizes.data, stored_release) * _KIB, sizes.object * _KIB)


class RuleName(StrEnum):
    """A review rule; some of them can be waived (docs/review.md#rules)."""

    ADMIN_BINDING = "admin-binding"
    WRITABLE_DEPLOY_KEY = "writable-deploy-key"
    PLAIN_SECRET = "plain-secret"
    RESERVED_NAMESPACE = "reserved-namespace"
    LOCKDOWN_FLAGS = "lockdown-flags"
    NO_POLICY_ENGINE = "no-policy-engine"
    POLICY_NOT_ENFORCED = "policy-not-enforced"
    PROTECTED_DELETION = "protected-deletion"


WAIVABLE = (
    RuleName.ADMIN_BINDING,
    RuleName.NO_POLICY_ENGINE,
    RuleName.POLICY_NOT_ENFORCED,
    RuleName.PROTECTED_DELETION,
)
"""The rules that a stack may break for a time and for a reason; the others have no good reason to be broken."""


LONGEST_WAIVER_DAYS = 366


def _in_time(value: date) -> date:
    now = today()
    if value < now:
        raise ValueError(EXPIRED(today=now, decision="waiver"))
    if (value - now).days > LONGEST_WAIVER_DAYS:
        raise ValueError(
            Message(
                "FT-CFG-692",
                f"is more than a year ahead (today is {now})",
                "set a date within a year; the waiver can be renewed then",
            )
        )
    return value


def _waivable(value: RuleName) -> RuleName:
    if value not in WAIVABLE:
        raise ValueError(UNKNOWN(what="a review rule that can be waived", choices=", ".join(WAIVABLE)))
    return value


class Waiver(Section):
    """A review rule that the stack may violate until a date."""

    rule: Annotated[
        RuleName,
        AfterValidator(_waivable),
        WithJsonSchema({"type": "string", "enum": list(WAIVABLE), "description": " or ".join(WAIVABLE)}),
    ] = Field(description="Name of the rule.")
    resource: str | None = Field(
        None, description="Resource that may violate the rule, as the finding names it; all by default."
    )
    reason: Reason = Field(description="Reason.")
    expires: Annotated[LastDay, AfterValidator(_in_time)] = Field(
        description="Last day, in UTC, at most a year ahead; afterwards, the stack has an error."
    )


class ReviewConfig(Section):
    """Decisions of reviewers. They change nothing in the cluster (docs/review.md)."""

    acknowledge: tuple[str, ...] = Field(
        (), description="Accepted deletions, each as `review diff` prints it: `<owner>:<digest>`."
    )
    waivers: tuple[Waiver, ...] = Field(
        (), description="Review rules that this stack may violate (docs/review.md#rules)."
    )


class Objective(Section):
    """What share of the time no commit of a tenant may be late."""

    percent: Annotated[float, Field(ge=95, lt=100)] = Field(
        99, description="Share of the time in which no commit of a tenant is late."
    )
    within: Duration = Field(
        "5m", description="A commit is late if it is not ready in this time after Flux has fetched it."
    )
    days: Annotated[int, Field(ge=1, le=31)] = Field(30, description="Days for which the share holds.")


class MonitoringConfig(Section):
    """Metrics, alerts and dashboards."""

    operator: bool = Field(
        False, description="Apply PodMonitors, a PrometheusRule and dashboards; needs Prometheus Operator."
    )
    namespace: DnsLabel = Field("monitoring", description="Namespace of these objects, which must exist.")
    labels: dict[str, str] = Field(
        default_factory=dict, description="Labels by which the operator selects PodMonitors and rules."
    )
    contact: str | None = Field(
        None, description="Who gets the platform's alerts, and those of tenants that name no contact."
    )
    documentation: WebUrl | None = Field(
        None, description="URL of the folder with this documentation, for the alerts' `runbook_url`."
    )
    objective: Objective = Field(default_factory=Objective, description="The service level objective of each tenant.")


class StackConfig(Section):
    """The values of `Pulumi.<stack>.yaml` for this project, merged over the tenants' base files."""

    cluster: ClusterConfig = Field(description="The cluster that the stack is applied to.")
    flux: FluxConfig = Field(description="The Flux release and its security profile.")
    kyverno: KyvernoConfig | None = Field(None, description="Kyverno; not installed by default (docs/kyverno.md).")
    capsule: CapsuleConfig | None = Field(
        None, description="Capsule, for `tenancy.mode: capsule`; not installed by default (docs/capsule.md)."
    )
    tenancy: TenancyConfig = Field(default_factory=TenancyConfig, description="Settings for all tenants of the stack.")
    policies: PoliciesConfig = Field(
        default_factory=PoliciesConfig,
        description="Admission policies (docs/policies.md). Lists are empty by default and allow nothing more, unless "
        "noted.",
    )
    git: GitConfig = Field(default_factory=GitConfig, description="Host keys of Git hosts.")
    github: GitHubConfig = Field(
        default_factory=GitHubConfig, description="GitHub, where deploy keys and webhooks are registered."
    )
    review: ReviewConfig = Field(
        default_factory=ReviewConfig, description="Decisions of this stack's reviewers (docs/review.md)."
    )
    monitoring: MonitoringConfig = Field(
        default_factory=MonitoringConfig, description="Metrics, alerts and dashboards (docs/monitoring.md)."
    )
    shared: dict[DnsLabel, SharedSource] = Field(
        default_factory=dict, description="Sources that are offered to tenants, by name (docs/syncs.md#sources)."
    )
    tenants: dict[TenantName, TenantConfig] = Field(
        default_factory=dict, description="The tenants of this environment, by name; merged over the tenant's file."
    )

    _origins: Any = PrivateAttr(None)
    """The files that the values come from (`components.stack.files.project.Origins`); None if all are of one file."""

    def came_from_files(self, origins: Any) -> None:
        """Note the files that the values come from, for what is found out later."""
        self._origins = origins

    def problem(self, path: KeyPath, message: str, stack_file: str) -> Problem:
        """A problem with the value at a path, with the file and key that the user has to edit."""
        if self._origins is None:
            return Problem(stack_file, dotted(path), message)
        found: Problem = self._origins.problem(path, message)
        return found

    @property
    def active_tenants(self) -> dict[str, TenantConfig]:
        """The tenants that have a source, a sync and access; those that are leaving have only their namespaces."""
        return {name: tenant for name, tenant in self.tenants.items() if not tenant.is_leaving}

    @property
    def tenant_of_namespaces(self) -> dict[str, str]:
        """The tenant of each namespace that the stack describes."""
        return {name: tenant for tenant, each in self.tenants.items() for name in each.namespace_names}

    @property
    def makes_namespaces(self) -> bool:
        """Whether tenants make namespaces themselves, with Capsule."""
        return self.tenancy.mode is TenancyMode.CAPSULE

    @property
    def has_developers(self) -> bool:
        """Whether people may ask Flux to reconcile a tenant's objects."""
        return any(tenant.people.developers for tenant in self.active_tenants.values())

    @property
    def has_freezes(self) -> bool:
        """Whether changes of a tenant are refused at some time."""
        return any(freezes_of(name, tenant, self.tenancy) for name, tenant in self.tenants.items())

    @property
    def sources(self) -> dict[tuple[str, ...], GitSource]:
        """Every Git source of the stack, except those of leaving tenants, by the path of its keys."""
        sources: dict[tuple[str, ...], GitSource] = {}
        if self.flux.sync is not None:
            sources["flux", "sync", "source"] = self.flux.sync.source
        for name, tenant in self.active_tenants.items():
            for key, source in tenant.git_sources.items():
                sources[("tenants", name, "source") if key is None else self.path_of_source(name, key)] = source
        return sources

    def path_of_source(self, tenant: str, name: str) -> tuple[str, ...]:
        """The path of the keys of one of a tenant's further sources: its own, or one that is shared with it."""
        if name in self.shared and self.tenants[tenant].sources[name] is self.shared[name].source:
            return "shared", name, "source"
        return "tenants", tenant, "sources", name

    def with_shared_sources(self) -> StackConfig:
        """The stack in which each tenant has the sources that are shared with it; its own come first."""
        if not self.shared:
            return self
        tenants = {}
        for name, tenant in self.tenants.items():
            offered = {key: each.source for key, each in self.shared.items() if name in each.tenants}
            tenants[name] = tenant.model_copy(update={"sources": offered | dict(tenant.sources)}) if offered else tenant
        return self.model_copy(update={"tenants": tenants})

    @property
    def opened_to_tenants(self) -> ResourceTable:
        """What the policies let tenants write in addition to their role."""
        opened = ((self.policies.roles, ROLES), (self.policies.network_policies, NETWORK_POLICIES))
        return tuple(each for is_open, table in opened if is_open for each in table)

    def with_counts(self) -> StackConfig:
        """The stack with the numbers of objects that `policies` and `tenancy.store.namespace` stand for."""
        limits = with_network_policies(self.tenancy.limits) if self.policies.network_policies else self.tenancy.limits
        if (size := self.tenancy.store.namespace) is not None:
            limits = within(limits, int(parse_quantity(size)), largest_objects(self.policies))
        return self.model_copy(update={"tenancy": self.tenancy.model_copy(update={"limits": limits})})

    @property
    def git_sources(self) -> Sources:
        """The Git sources of the stack and what they share; the platform's name is reserved."""
        by_name: dict[str, GitSource] = {}
        homes: dict[str, str] = {}
        if self.flux.sync is not None:
            by_name[PLATFORM_META.name], homes[PLATFORM_META.name] = self.flux.sync.source, PLATFORM_META.namespace
        for name, tenant in self.active_tenants.items():
            for key, source in tenant.git_sources.items():
                meta = source_meta(name, tenant) if key is None else further_source_meta(name, tenant, key)
                by_name[meta.prefix], homes[meta.prefix] = source, meta.namespace
        return Sources(by_name, homes, self.github, self.git.known_hosts, self.flux.webhook_url)

    @property
    def further_sources(self) -> dict[str, Manifest]:
        """The objects of the tenants' further sources that Flux reports on, by the prefix of their Secrets' names."""
        return {
            meta.prefix: {"apiVersion": SOURCE_API, "kind": source.kind, "metadata": meta.metadata(meta.name)}
            for name, tenant in self.active_tenants.items()
            for key, source in tenant.sources.items()
            if has_status(source)
            for meta in [further_source_meta(name, tenant, key)]
        }

    @property
    def decryptions(self) -> dict[tuple[str, ...], Decryption]:
        """The decryption of each sync of the stack, by the path of its keys."""
        syncs: dict[tuple[str, ...], Reconciliation | None] = {("flux", "sync"): self.flux.sync}
        syncs |= {("tenants", name, "sync"): tenant.sync for name, tenant in self.active_tenants.items()}
        return {(*path, "decryption"): sync.decryption for path, sync in syncs.items() if sync and sync.decryption}

    @field_validator("tenants", "tenancy", "policies", "git", "github", "review", "monitoring", "shared", mode="before")
    @classmethod
    def _empty(cls, value: Any) -> Any:
        return {} if value is None else value


_WORDS = frozenset({"production", "prod"})


def is_production(stack: str, config: StackConfig) -> bool:
    """Whether a stack is a production environment; see `counts_as_production`."""
    return counts_as_production(stack, config.cluster.production)


def counts_as_production(stack: str, setting: bool | None) -> bool:
    """Whether a stack is a production environment.

    `cluster.production` says so. Without it, the first or last word of the stack's name does: `production`, `prod-eu`
    and `eu.production` are, `staging` and `product-eu` are not. `pre-prod` counts as production until the key says
    otherwise, since protection that nobody asked for does less harm than protection that is missing.

    Args:
        setting: `cluster.production`; None if it is not set.
    """
    if setting is not None:
        return setting
    words = re.split(r"[-_.]", stack.lower())
    return words[0] in _WORDS or words[-1] in _WORDS
