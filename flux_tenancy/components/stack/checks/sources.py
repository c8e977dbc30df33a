"""Checks of the sources of tenants and of those that are shared with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flux_tenancy.components.config.errors import MISSING, RESERVED, UNKNOWN
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.installs.flux.config import Profile
from flux_tenancy.components.installs.flux.lockdown_flags import EXTERNAL_ARTIFACT, enables
from flux_tenancy.components.sources.config import ExternalArtifactSource
from flux_tenancy.components.vocabulary.names import APPLIED_SOURCES, Controller

if TYPE_CHECKING:
    from flux_tenancy.components.stack.checks import Check, Finding
    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.tenant.config import TenantConfig

NEEDS_GATE = Wording(
    "FT-CFG-655",
    "needs the feature gate {gate}, which is not set",
    "add `--feature-gates={gate}=true` to flux.extraArgs.{controller}",
)
NO_TOKENS = Wording(
    "FT-CFG-654", "needs tokens of a service account, which Flux may not create", "set flux.workloadIdentity to true"
)
NO_SOURCE = Wording("FT-SRC-040", "is required, because the tenant has no `source`", "name one of {names}")


def not_a_tenant(config: StackConfig, name: str) -> Message:
    """That the stack has no tenant of this name."""
    return UNKNOWN(what="a tenant of this stack", choices=", ".join(config.tenants) or "none").of(name)


def unknown_source(tenant: TenantConfig, name: str) -> Message:
    """That a tenant has no source of this name."""
    return UNKNOWN(what="a source of the tenant", choices=", ".join(tenant.sources) or "none").of(name)


def _without_source(config: StackConfig) -> Iterator[Finding]:
    """Syncs without a source."""
    for name, tenant in config.tenants.items():
        if tenant.source is not None or tenant.sync.source is not None or not tenant.has_syncs:
            continue
        if tenant.sources:
            applied = [source for source, each in tenant.sources.items() if each.kind in APPLIED_SOURCES]
            names = ", ".join(applied or tenant.sources)
            yield ("tenants", name, "sync", "source"), NO_SOURCE(names=names)
        else:
            yield ("tenants", name, "source"), MISSING()


def _unusable_source(config: StackConfig) -> Iterator[Finding]:
    """Syncs of a source that does not exist, or that a Kustomization cannot apply."""
    for name, tenant in config.tenants.items():
        if (wanted := tenant.sync.source) is None:
            continue
        path = ("tenants", name, "sync", "source")
        if wanted not in tenant.sources:
            if wanted in config.shared and name in config.shared[wanted].tenants:
                continue  # What is shared has errors of its own.
            yield path, unknown_source(tenant, wanted)
        elif (kind := tenant.sources[wanted].kind) not in APPLIED_SOURCES:
            choices = f"the kinds {', '.join(APPLIED_SOURCES)}"
            yield path, UNKNOWN(what=f"a source that a sync can apply, but a {kind}", choices=choices).of(wanted)


def _named_as_tenant(config: StackConfig) -> Iterator[Finding]:
    for name, tenant in config.tenants.items():
        if name in tenant.sources:
            yield config.path_of_source(name, name), RESERVED(owner="`source`")


def _unknown_tenants(config: StackConfig) -> Iterator[Finding]:
    for name, shared in config.shared.items():
        for index, tenant in enumerate(shared.tenants):
            if tenant not in config.tenants:
                yield ("shared", name, "tenants", index), not_a_tenant(config, tenant)


def _taken_names(config: StackConfig) -> Iterator[Finding]:
    """Shared sources with the name of one that the tenant has itself."""
    for name, shared in config.shared.items():
        for tenant in shared.tenants:
            own = config.tenants[tenant].sources.get(name) if tenant in config.tenants else None
            if own is not None and own is not shared.source:
                yield ("shared", name), RESERVED(owner=f"a source of the tenant {tenant}")


def _without_tokens(config: StackConfig) -> Iterator[Finding]:
    """Sources that log in to a cloud as a service account whose tokens Flux may not create."""
    if config.flux.workload_identity or config.flux.profile is not Profile.MULTI_TENANT:
        return
    further = {
        config.path_of_source(name, key): source
        for name, tenant in config.active_tenants.items()
        for key, source in tenant.sources.items()
    }
    for path, source in {**config.sources, **further}.items():
        if getattr(source, "service_account_name", None) is not None:
            yield (*path, "serviceAccountName"), NO_TOKENS()


def _unread_artifacts(config: StackConfig) -> Iterator[Finding]:
    """Syncs of an ExternalArtifact, which kustomize-controller reads only behind a feature gate."""
    arguments = config.flux.extra_args.get(Controller.KUSTOMIZE, ())
    if any(enables(EXTERNAL_ARTIFACT, argument) for argument in arguments):
        return
    for name, tenant in config.active_tenants.items():
        if isinstance(tenant.sources.get(tenant.sync.source or ""), ExternalArtifactSource):
            path = ("tenants", name, "sync", "source")
            yield path, NEEDS_GATE(gate=EXTERNAL_ARTIFACT, controller=Controller.KUSTOMIZE)


SOURCE_CHECKS: tuple[Check, ...] = (
    _without_source,
    _unusable_source,
    _named_as_tenant,
    _unknown_tenants,
    _taken_names,
    _without_tokens,
    _unread_artifacts,
)
