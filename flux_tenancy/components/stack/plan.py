"""The plan of a stack: what it wants for its tenants and for the platform's own sync, in one list.

Registration, quotas, the names that an update needs, adoption, progress and outputs read it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git.source import GitAccess
from flux_tenancy.components.installs.flux.component import planned_platform_sync, platform_path
from flux_tenancy.components.installs.flux.release import provider_api
from flux_tenancy.components.plan import Planned, Stage, of_stage
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.sync.status import ALWAYS, Sync, sync_of
from flux_tenancy.components.tenant.identity import impersonations, is_granted, planned_rights
from flux_tenancy.components.tenant.plan import tenant_plan
from flux_tenancy.components.tenant.scope import TenantScope
from flux_tenancy.components.vocabulary.names import applied_key


@dataclass(frozen=True)
class Plan:
    """What a stack wants.

    Attributes:
        scopes: what the features of each tenant plan from.
        platform: what the platform's own sync has; empty without one.
        rights: what lets Flux's controllers act in other namespaces, as `flux.impersonate` names them.
    """

    scopes: Mapping[str, TenantScope]
    tenants: Mapping[str, Sequence[Planned]]
    platform: Sequence[Planned]
    rights: Sequence[Planned]

    @property
    def named_in_tenants(self) -> Iterator[tuple[str, Planned]]:
        """What has a name of its own in a tenant's namespace, each with its tenant."""
        for tenant, planned in self.tenants.items():
            yield from ((tenant, each) for each in planned if each.is_named and each.namespace)

    def early_rights(self, existing: Container[str], state: State) -> list[Planned]:
        """Rights of Flux's controllers in namespaces that exist, and in which they are not yet as they are to be.

        The platform's own are always registered early: a render has no cluster, and shows them, too.
        """
        of_tenants = [each for planned in self.tenants.values() for each in planned if each.beside]
        changed = {each.namespace for each in of_tenants if not is_granted(each.manifest, state)}
        return [
            *self.rights,
            *(each for each in of_tenants if each.namespace in existing and each.namespace in changed),
        ]

    @property
    def syncs(self) -> dict[str, Sync]:
        """What Flux applies, by `applied_key`, or by the name of the platform's own sync; none of leaving tenants."""
        found = {
            applied_key(tenant, each.kind, each.name): sync_of(each.manifest)
            for tenant, planned in self.tenants.items()
            for each in of_stage(planned, Stage.SYNCS)
        }
        found |= {each.name: sync_of(each.manifest) for each in of_stage(self.platform, Stage.SYNCS)}
        return found

    @property
    def flux_kinds(self) -> frozenset[str]:
        """The kinds of everything that Flux fetches and applies."""
        return ALWAYS | {kind for sync in self.syncs.values() for kind, _, _ in (sync.source, sync.applied)}


def stack_plan(config: StackConfig, stack: str, access: GitAccess | None = None) -> Plan:
    """The plan of a stack.

    Args:
        access: what all Git sources of the stack share; by default, nothing is planned at a Git host.
    """
    access = access or GitAccess(config.git.known_hosts, github=None, webhook_url=config.flux.webhook_url)
    rights = impersonations(config.flux, config.active_tenants, config.tenancy)
    api = provider_api(config.flux.version)
    scopes = {
        name: TenantScope(
            name,
            tenant,
            config.tenancy,
            config.flux.default_service_account,
            access,
            rights,
            api,
            config.flux.lane_of(tenant.lane),
        )
        for name, tenant in config.tenants.items()
    }
    of_tenants = {name for tenant in config.active_tenants.values() for name in tenant.namespace_names}
    platform: list[Planned] = []
    if (sync := config.flux.sync) is not None:
        platform = [*planned_platform_sync(sync, platform_path(sync, stack), access, config.flux.notifications, api)]
    return Plan(
        scopes,
        {name: tenant_plan(scope) for name, scope in scopes.items()},
        platform,
        list(planned_rights([each for each in rights if each not in of_tenants], rights)),
    )
