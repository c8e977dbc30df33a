"""Checks of the sources of tenants and of those that are shared with them."""

from __future__ import annotations

from collections.abc import Iterator

from components.flux.config import Profile
from components.flux.controllers import Controller
from components.flux.lockdown_flags import EXTERNAL_ARTIFACT, enables
from components.sources.config import ExternalArtifactSource
from components.sources.config_wordings import (
    EXTERNAL_ARTIFACTS_OFF,
    SHARED_NAME_TAKEN,
    SHARED_WITH_UNKNOWN_TENANT,
    SOURCE_NAMED_AS_TENANT,
    SOURCE_NOT_APPLIED,
    SYNC_WITHOUT_SOURCE,
    TOKENS_REFUSED,
    UNKNOWN_SOURCE,
)
from components.stack.config import StackConfig
from components.stack.config_wordings import MISSING
from components.stack.partial import Check, Finding
from components.sync.names import APPLIED_SOURCES


def _without_source(config: StackConfig) -> Iterator[Finding]:
    """Syncs without a source."""
    for name, tenant in config.tenants.items():
        if tenant.source is not None or tenant.sync.source is not None or not tenant.has_syncs:
            continue
        if tenant.sources:
            applied = [source for source, each in tenant.sources.items() if each.kind in APPLIED_SOURCES]
            names = ", ".join(applied or tenant.sources)
            yield ("tenants", name, "sync", "source"), SYNC_WITHOUT_SOURCE(names=names)
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
            yield path, UNKNOWN_SOURCE(names=", ".join(tenant.sources) or "`sources`").of(wanted)
        elif (kind := tenant.sources[wanted].kind) not in APPLIED_SOURCES:
            yield path, SOURCE_NOT_APPLIED(kind=kind, kinds=", ".join(APPLIED_SOURCES)).of(wanted)


def _named_as_tenant(config: StackConfig) -> Iterator[Finding]:
    for name, tenant in config.tenants.items():
        if name in tenant.sources:
            yield config.path_of_source(name, name), SOURCE_NAMED_AS_TENANT()


def _unknown_tenants(config: StackConfig) -> Iterator[Finding]:
    for name, shared in config.shared.items():
        for index, tenant in enumerate(shared.tenants):
            if tenant not in config.tenants:
                tenants = ", ".join(config.tenants) or "`tenants`"
                yield ("shared", name, "tenants", index), SHARED_WITH_UNKNOWN_TENANT(tenants=tenants).of(tenant)


def _taken_names(config: StackConfig) -> Iterator[Finding]:
    """Shared sources with the name of one that the tenant has itself."""
    for name, shared in config.shared.items():
        for tenant in shared.tenants:
            own = config.tenants[tenant].sources.get(name) if tenant in config.tenants else None
            if own is not None and own is not shared.source:
                yield ("shared", name), SHARED_NAME_TAKEN(tenant=tenant)


def _without_tokens(config: StackConfig) -> Iterator[Finding]:
    """Sources that log in to a cloud as a service account whose tokens Flux may not create."""
    if config.flux.workload_identity or config.flux.profile is not Profile.MULTI_TENANT:
        return
    for name, tenant in config.active_tenants.items():
        for key, source in tenant.sources.items():
            if getattr(source, "service_account_name", None) is not None:
                yield (*config.path_of_source(name, key), "serviceAccountName"), TOKENS_REFUSED()


def _unread_artifacts(config: StackConfig) -> Iterator[Finding]:
    """Syncs of an ExternalArtifact, which kustomize-controller reads only behind a feature gate."""
    arguments = config.flux.extra_args.get(Controller.KUSTOMIZE, ())
    if any(enables(EXTERNAL_ARTIFACT, argument) for argument in arguments):
        return
    for name, tenant in config.active_tenants.items():
        if isinstance(tenant.sources.get(tenant.sync.source or ""), ExternalArtifactSource):
            path = ("tenants", name, "sync", "source")
            yield path, EXTERNAL_ARTIFACTS_OFF(controller=Controller.KUSTOMIZE, gate=EXTERNAL_ARTIFACT)


SOURCE_CHECKS: tuple[Check, ...] = (
    _without_source,
    _unusable_source,
    _named_as_tenant,
    _unknown_tenants,
    _taken_names,
    _without_tokens,
    _unread_artifacts,
)
