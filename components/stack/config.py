"""The configuration of a stack, typed once: checks, schemas and reference are derived from it."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from components.cluster.config import ClusterConfig
from components.config.section import Section
from components.config.types import TenantName
from components.flux.config import FluxConfig
from components.git.config import GitConfig, GitHubConfig, GitSource
from components.git.sources import Sources
from components.kyverno.config import KyvernoConfig
from components.policies.config import PoliciesConfig
from components.stack.review_config import ReviewConfig
from components.sync.config import Reconciliation
from components.sync.decryption import Decryption
from components.sync.names import PLATFORM
from components.tenant.config import TenancyConfig, TenantConfig


class StackConfig(Section):
    """The values of `Pulumi.<stack>.yaml` for this project, merged over the tenants' base files."""

    cluster: ClusterConfig = Field(description="The cluster that the stack is applied to.")
    flux: FluxConfig = Field(description="The Flux release and its security profile.")
    kyverno: KyvernoConfig | None = Field(
        None, description="Kyverno, installed before the tenants; not installed by default (docs/kyverno.md)."
    )
    tenancy: TenancyConfig = Field(default_factory=TenancyConfig, description="Settings for all tenants of the stack.")
    policies: PoliciesConfig = Field(
        default_factory=PoliciesConfig, description="What admission denies in tenants' namespaces (docs/policies.md)."
    )
    git: GitConfig = Field(default_factory=GitConfig, description="Host keys of Git hosts.")
    github: GitHubConfig = Field(
        default_factory=GitHubConfig, description="GitHub, where deploy keys and webhooks are registered."
    )
    review: ReviewConfig = Field(
        default_factory=ReviewConfig, description="What reviewers of this stack have decided (docs/review.md)."
    )
    tenants: dict[TenantName, TenantConfig] = Field(
        default_factory=dict,
        description="The tenants of this environment, by name; merged over the tenant's file.",
    )

    @property
    def active_tenants(self) -> dict[str, TenantConfig]:
        """The tenants that have a source, a sync and access; those that are leaving have only their namespaces."""
        return {name: tenant for name, tenant in self.tenants.items() if not tenant.is_leaving}

    @property
    def sources(self) -> dict[tuple[str, ...], GitSource]:
        """Every Git source of the stack, except those of leaving tenants, by the path of its keys."""
        sources: dict[tuple[str, ...], GitSource] = {}
        if self.flux.sync is not None:
            sources["flux", "sync", "source"] = self.flux.sync.source
        return sources | {("tenants", name, "source"): tenant.source for name, tenant in self.active_tenants.items()}

    @property
    def git_sources(self) -> Sources:
        """The Git sources of the stack and what they share; the platform's name is reserved."""
        by_name, homes = {name: each.source for name, each in self.active_tenants.items()}, {}
        if self.flux.sync is not None:
            by_name = {PLATFORM.name: self.flux.sync.source} | by_name
            homes = {PLATFORM.name: PLATFORM.namespace}
        homes |= {name: each.home for name, each in self.active_tenants.items()}
        return Sources(by_name, homes, self.github, self.git.known_hosts, self.flux.webhook_url)

    @property
    def decryptions(self) -> dict[tuple[str, ...], Decryption]:
        """The decryption of each sync of the stack, by the path of its keys."""
        syncs: dict[tuple[str, ...], Reconciliation | None] = {("flux", "sync"): self.flux.sync}
        syncs |= {("tenants", name, "sync"): tenant.sync for name, tenant in self.active_tenants.items()}
        return {(*path, "decryption"): sync.decryption for path, sync in syncs.items() if sync and sync.decryption}

    @field_validator("tenants", "tenancy", "policies", "git", "github", "review", mode="before")
    @classmethod
    def _empty(cls, value: Any) -> Any:
        return {} if value is None else value
