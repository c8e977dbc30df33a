"""What Flux applies for a stack: the platform's sync, and the syncs and releases of all tenants."""

from __future__ import annotations

from components.stack.config import StackConfig
from components.sync.flux_objects import ALWAYS
from components.sync.status import Sync, sync_at, sync_of
from components.tenant.objects import tenant_objects
from components.vocabulary.names import PLATFORM, applied_key


def all_syncs(config: StackConfig) -> dict[str, Sync]:
    """Everything that Flux applies, except for tenants that are leaving.

    The key is that of `applied_key`, or the name of the platform's sync.
    """
    found: dict[str, Sync] = {}
    for name, tenant in config.active_tenants.items():
        for manifest in tenant_objects(name, tenant, config.tenancy).applied:
            sync = sync_of(manifest)
            kind, _, applied = sync.applied
            found[applied_key(name, kind, applied)] = sync
    if config.flux.sync is not None:
        found[PLATFORM.name] = sync_at(PLATFORM.namespace, PLATFORM.name)
    return found


def kinds_of(config: StackConfig) -> frozenset[str]:
    """The kinds of everything that Flux fetches and applies for the stack."""
    return ALWAYS | {kind for sync in all_syncs(config).values() for kind, _, _ in (sync.source, sync.applied)}
