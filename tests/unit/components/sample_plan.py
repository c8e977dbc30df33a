"""What is planned for a tenant, by stage and kind, as manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from flux_tenancy.components.git.source import GitAccess
from flux_tenancy.components.installs.flux.component import PlatformSyncArgs, planned_platform_sync
from flux_tenancy.components.installs.flux.config import PlatformSyncConfig
from flux_tenancy.components.plan import Planned, Registered, Stage, of_stage, register_planned
from flux_tenancy.components.sources.objects import AnySource, planned_any_source
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.sync.notifications import BETA_PROVIDER_API, Notification
from flux_tenancy.components.tenant.component import TenantArgs
from flux_tenancy.components.tenant.config import TenancyConfig, TenantConfig
from flux_tenancy.components.tenant.leaving.deletion import Offboarding
from flux_tenancy.components.tenant.limits import room_of
from flux_tenancy.components.tenant.plan import tenant_plan
from flux_tenancy.components.tenant.scope import TenantScope
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import ObjectMeta


@dataclass(frozen=True)
class TenantObjects:
    planned: list[Planned]

    def _of(self, stage: Stage, *kinds: str) -> list[Manifest]:
        return [each.manifest for each in of_stage(self.planned, stage) if each.kind in kinds or not kinds]

    @property
    def capsule(self) -> list[Manifest]:
        return self._of(Stage.CAPSULE)

    @property
    def namespaces(self) -> list[Manifest]:
        return self._of(Stage.NAMESPACES)

    @property
    def limits(self) -> list[Manifest]:
        return self._of(Stage.LIMITS)

    @property
    def people(self) -> list[Manifest]:
        return self._of(Stage.PEOPLE)

    @property
    def identity(self) -> Manifest:
        [account] = self._of(Stage.IDENTITY)
        return account

    @property
    def granted_roles(self) -> list[Manifest]:
        return self._of(Stage.CONTENT, "Role", "ClusterRole")

    @property
    def secrets(self) -> list[Manifest]:
        return self._of(Stage.CONTENT, "Secret")

    @property
    def decryption(self) -> list[Manifest]:
        ours = ("ServiceAccount", "Secret")
        return [each for each in self._of(Stage.CONTENT, *ours) if "-sops" in str(each) or "-decryption" in str(each)]

    @property
    def access(self) -> list[Manifest]:
        return self._of(Stage.ACCESS)

    @property
    def syncs(self) -> list[Manifest]:
        return self._of(Stage.SYNCS, "Kustomization")

    @property
    def releases(self) -> list[Manifest]:
        return self._of(Stage.SYNCS, "HelmRelease")

    @property
    def applied(self) -> list[Manifest]:
        return self._of(Stage.SYNCS)


NO_GIT_HOST = GitAccess(known_hosts=(), github=None, webhook_url=None)
"""Access without any Git host."""


def tenant_scope(
    name: str,
    config: TenantConfig,
    tenancy: TenancyConfig | None = None,
    default_account: str = "default",
    access: GitAccess = NO_GIT_HOST,
    rights: Mapping[str, Sequence[Manifest]] | None = None,
    lane: str = "",
) -> TenantScope:
    """A tenant of a stack with an older Flux, in which its controllers are cluster-admin."""
    given = tenancy or TenancyConfig()
    return TenantScope(name, config, given, default_account, access, rights or {}, BETA_PROVIDER_API, lane)


def tenant_objects(
    name: str,
    config: TenantConfig,
    tenancy: TenancyConfig | None = None,
    default_account: str = "default",
    lane: str = "",
) -> TenantObjects:
    return TenantObjects(tenant_plan(tenant_scope(name, config, tenancy, default_account, lane=lane)))


def room_for(config: TenantConfig, namespace: str, tenancy: TenancyConfig | None = None) -> dict[str, int]:
    """What the platform's own objects take of the quotas of one of a tenant's namespaces."""
    return dict(room_of(tenant_objects("dev-team", config, tenancy).planned)[namespace])


def tenant_args(
    config: TenantConfig,
    access: GitAccess,
    tenancy: TenancyConfig,
    offboarding: Offboarding,
    rights: Mapping[str, Sequence[Manifest]] | None = None,
    name: str = "dev-team",
    **more: Any,
) -> TenantArgs:
    scope = tenant_scope(name, config, tenancy, access=access, rights=rights)
    return TenantArgs(scope, tenant_plan(scope), offboarding, **more)


def planned_tenants(config: StackConfig) -> list[Sequence[Planned]]:
    return list(stack_plan(config, "staging").tenants.values())


def platform_args(
    config: PlatformSyncConfig, path: str, access: GitAccess, notifications: Mapping[str, Notification] | None = None
) -> PlatformSyncArgs:
    return PlatformSyncArgs(list(planned_platform_sync(config, path, access, notifications or {}, BETA_PROVIDER_API)))


def register_source(
    meta: ObjectMeta, source: AnySource, access: GitAccess, parent: pulumi.Resource, after: Sequence[pulumi.Resource]
) -> Registered:
    """Register a source as its owner does."""
    opts = pulumi.ResourceOptions(parent=parent, depends_on=list(after))
    return register_planned(planned_any_source(meta, source, access), lambda _: opts)
