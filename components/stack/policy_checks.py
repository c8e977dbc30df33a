"""Checks of policies against the rest of the stack: objects of the platform that admission would deny."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from components.allowlists.source_patterns import is_comparable, read_pattern
from components.config.types import seconds
from components.policies.config import PolicyEngine, PolicyMode
from components.policies.names import PolicyName
from components.stack.config import StackConfig
from components.stack.config_wordings import (
    INTERVAL_TOO_SHORT,
    KYVERNO_NEEDED,
    KYVERNO_NOT_INSTALLED,
    SOURCE_NOT_ALLOWED,
    SOURCE_NOT_COMPARABLE,
    SOURCE_NOT_VERIFIED,
    SOURCE_WITHOUT_TLS,
    TIMEOUT_TOO_LONG,
    UNLIMITED_IMAGES,
)
from components.stack.messages import dotted
from components.stack.overlay import Path
from components.stack.partial import Check, Finding
from components.sync.names import GIT_REPOSITORY
from components.tenant.config import TenantConfig


def _not_installed(config: StackConfig) -> Iterator[Finding]:
    """Policies for Kyverno in a stack that does not install it."""
    if config.policies.engine.kyverno and config.kyverno is None:
        yield ("policies", "engine"), KYVERNO_NOT_INSTALLED(engine=config.policies.engine.value)


def _without_kyverno(config: StackConfig) -> Iterator[Finding]:
    """Features that only Kyverno has."""
    policies = config.policies
    asked = {
        ("images", "signatures"): bool(policies.images.signatures),
        ("fluxImages",): policies.flux_images,
        ("onboarding",): policies.onboarding,
    }
    for path, wanted in asked.items():
        if wanted and not policies.engine.kyverno:
            yield ("policies", *path), KYVERNO_NEEDED(engine=policies.engine.value)


def _signatures_under_other_names(config: StackConfig) -> Iterator[Finding]:
    """Signatures that another name of the same registry, such as one with a port, would circumvent."""
    if config.policies.images.signatures and config.policies.images.allowed is None:
        yield ("policies", "images", "signatures"), UNLIMITED_IMAGES()


def _in_use(policy: PolicyName, config: StackConfig) -> bool:
    policies = config.policies
    return policies.engine is not PolicyEngine.NONE and policies.mode_of(policy) is not PolicyMode.OFF


def _refused_source(path: Path, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    """A tenant's source that admission would deny; the update would fail half way."""
    source, rules = tenant.source, config.policies.sources
    if _in_use(PolicyName.ALLOWED_SOURCES, config):
        lists = [rules.allowed, tenant.policies.sources or None]
        allowed = [entry for entries in lists if entries is not None for entry in entries]
        key = (*path, "source", "url")
        if not is_comparable(source.url):
            yield key, SOURCE_NOT_COMPARABLE()
        elif source.url.startswith("http://") and not rules.plain_http:
            yield key, SOURCE_WITHOUT_TLS()
        elif lists != [None, None] and not any(read_pattern(entry).allows(source.url) for entry in allowed):
            shown = ", ".join(allowed) or "none"
            yield key, SOURCE_NOT_ALLOWED(tenant=path[-1], allowed=shown, path=dotted(path))


def _unverified_source(path: Path, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    source, rules = tenant.source, config.policies.sources
    verified = {*rules.verified, *tenant.policies.verified}
    if _in_use(PolicyName.VERIFIED_SOURCES, config) and GIT_REPOSITORY in verified and source.verify is None:
        yield (*path, "source"), SOURCE_NOT_VERIFIED(kind=GIT_REPOSITORY, path=dotted(path))


def _refused_intervals(path: Path, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    if not _in_use(PolicyName.RECONCILIATION_INTERVAL, config):
        return
    shortest = config.policies.minimum_interval
    intervals = {
        ("source", "interval"): tenant.source.interval,
        ("sync", "interval"): tenant.sync.interval,
        ("sync", "retryInterval"): tenant.sync.retry_interval,
    }
    for key, interval in intervals.items():
        if seconds(interval) < seconds(shortest):
            yield (*path, *key), INTERVAL_TOO_SHORT(minimum=shortest).of(interval)


def _refused_timeouts(path: Path, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    if not _in_use(PolicyName.RECONCILIATION_TIMEOUT, config):
        return
    longest = config.policies.maximum_timeout
    timeouts = {("source", "timeout"): tenant.source.timeout, ("sync", "timeout"): tenant.sync.timeout}
    for key, timeout in timeouts.items():
        if seconds(timeout) > seconds(longest):
            yield (*path, *key), TIMEOUT_TOO_LONG(maximum=longest).of(timeout)


def _of_each_active_tenant(check: Callable[[Path, TenantConfig, StackConfig], Iterator[Finding]]) -> Check:
    def of_all(config: StackConfig) -> Iterator[Finding]:
        for name, tenant in config.active_tenants.items():
            yield from check(("tenants", name), tenant, config)

    return of_all


POLICY_CHECKS: tuple[Check, ...] = (
    _not_installed,
    _without_kyverno,
    _signatures_under_other_names,
    _of_each_active_tenant(_refused_source),
    _of_each_active_tenant(_unverified_source),
    _of_each_active_tenant(_refused_intervals),
    _of_each_active_tenant(_refused_timeouts),
)
