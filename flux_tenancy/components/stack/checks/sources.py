"""Checks of the sources of tenants and of those that are shared with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flux_tenancy.components.config.errors import MISSING
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.installs.flux.config import Profile
from flux_tenancy.components.installs.flux.lockdown_flags import EXTERNAL_ARTIFACT, enables
from flux_tenancy.components.sources.config import ExternalArtifactSource
from flux_tenancy.components.vocabulary.names import APPLIED_SOURCES, Controller

if TYPE_CHECKING:
    from flux_tenancy.components.stack.checks import Check, Finding
    from flux_tenancy.components.stack.config import StackConfig

NO_TOKENS = Wording(
    "FT-CFG-654", "needs tokens of a service account, which Flux may not create", "set flux.workloadIdentity to true"
)
NO_SOURCE = Wording("FT-SRC-040", "is required, because the tenant has no `source`", "name one of {names}")
NOT_A_TENANT = Wording("FT-SRC-044", "is not a tenant of this stack", "name one of {tenants}, or remove it")
UNKNOWN_SOURCE = Wording("FT-SRC-041", "is not a source of the tenant", "name one of {names}")


def _without_source(config: StackConfig) -> Iterator[Finding]:
    """Syncs without a source."""
    for name, tenant in config.tenants.items():
        if tenant.source is not None or tenant.sync.source is not None or not tenant.has_syncs:
            continue
        if tenant.sources:
            applied = [source for source, each in tenant.sources.items() if each.kind in APPLIED_SOURCES]
            names = ", ".join(applied or tenant.sources)
            yield (
                ("tenants", name, "sync", "source"),
                NO_SOURCE(names=names),
            )
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
            yield (
                path,
                Message(
                    "FT-SRC-042",
                    f"is a {kind}, which a sync cannot apply",
                    f"name a source of the kind {', '.join(APPLIED_SOURCES)}",
                ).of(wanted),
            )


def _named_as_tenant(config: StackConfig) -> Iterator[Finding]:
    for name, tenant in config.tenants.items():
        if name in tenant.sources:
            yield (
                config.path_of_source(name, name),
                Message(
                    "FT-SRC-043",
                    "has the tenant's name, which is reserved for `source`",
                    "choose another name",
                ),
            )


def _unknown_tenants(config: StackConfig) -> Iterator[Finding]:
    for name, shared in config.shared.items():
        for index, tenant in enumerate(shared.tenants):
            if tenant not in config.tenants:
                tenants = ", ".join(config.tenants) or "`tenants`"
                yield (
                    ("shared", name, "tenants", index),
                    NOT_A_TENANT(tenants=tenants).of(tenant),
                )


def _taken_names(config: StackConfig) -> Iterator[Finding]:
    """Shared sources with the name of one that the tenant has itself."""
    for name, shared in config.shared.items():
        for tenant in shared.tenants:
            own = config.tenants[tenant].sources.get(name) if tenant in config.tenants else None
            if own is not None and own is not shared.source:
                yield (
                    ("shared", name),
                    Message("FT-SRC-045", f"is also the name of a source of the tenant {tenant}", "rename one of them"),
                )


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
            yield (
                (*path, "serviceAccountName"),
                NO_TOKENS(),
            )


def _unread_artifacts(config: StackConfig) -> Iterator[Finding]:
    """Syncs of an ExternalArtifact, which kustomize-controller reads only behind a feature gate."""
    arguments = config.flux.extra_args.get(Controller.KUSTOMIZE, ())
    if any(enables(EXTERNAL_ARTIFACT, argument) for argument in arguments):
        return
    for name, tenant in config.active_tenants.items():
        if isinstance(tenant.sources.get(tenant.sync.source or ""), ExternalArtifactSource):
            path = ("tenants", name, "sync", "source")
            yield (
                path,
                Message(
                    "FT-SRC-053",
                    f"names an ExternalArtifact, which {Controller.KUSTOMIZE} does not read",
                    f"add `--feature-gates={EXTERNAL_ARTIFACT}=true` to flux.extraArgs.{Controller.KUSTOMIZE}",
                ),
            )


SOURCE_CHECKS: tuple[Check, ...] = (
    _without_source,
    _unusable_source,
    _named_as_tenant,
    _unknown_tenants,
    _taken_names,
    _without_tokens,
    _unread_artifacts,
)
