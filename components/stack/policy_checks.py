"""Checks of policies against the rest of the stack: what admission would refuse of the platform's own objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from components.allowlists.source_patterns import is_comparable, read_pattern
from components.config.types import seconds
from components.policies.config import PolicyEngine, PolicyMode
from components.policies.names import PolicyName
from components.stack.config import StackConfig
from components.stack.messages import dotted
from components.stack.overlay import Path
from components.stack.partial import Check, Finding
from components.sync.names import GIT_REPOSITORY
from components.tenant.config import TenantConfig


def _not_installed(config: StackConfig) -> Iterator[Finding]:
    """Policies for a Kyverno that the stack does not have."""
    if config.policies.engine.kyverno and config.kyverno is None:
        yield (
            ("policies", "engine"),
            f"is {config.policies.engine.value}, but the stack has no section kyverno, which says what to install; add "
            "it, or set engine to native",
        )


def _without_kyverno(config: StackConfig) -> Iterator[Finding]:
    """Policies that Kubernetes' own admission has no means for."""
    policies = config.policies
    asked = {
        ("images", "signatures"): bool(policies.images.signatures),
        ("fluxImages",): policies.flux_images,
        ("onboarding",): policies.onboarding,
    }
    for path, wanted in asked.items():
        if wanted and not policies.engine.kyverno:
            yield ("policies", *path), f"needs Kyverno, and policies.engine is {policies.engine}; set that to both"


def _signatures_under_other_names(config: StackConfig) -> Iterator[Finding]:
    """Signatures that another name of the same registry, such as one with a port, would get around."""
    if config.policies.images.signatures and config.policies.images.allowed is None:
        yield (
            ("policies", "images", "signatures"),
            "names images that policies.images.allowed does not limit, so that another name of the same image would "
            "need no signature; list there what tenants may run",
        )


def _in_use(policy: PolicyName, config: StackConfig) -> bool:
    policies = config.policies
    return policies.engine is not PolicyEngine.NONE and policies.mode_of(policy) is not PolicyMode.OFF


def _refused_source(path: Path, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    """A tenant whose own source would be refused once the policies are in force, with the tenant half removed."""
    source, rules = tenant.source, config.policies.sources
    if _in_use(PolicyName.ALLOWED_SOURCES, config):
        lists = [rules.allowed, tenant.policies.sources or None]
        allowed = [entry for entries in lists if entries is not None for entry in entries]
        remedy = f"add it to policies.sources.allowed, or to policies.sources of {dotted(path)}"
        if not is_comparable(source.url):
            yield (
                (*path, "source", "url"),
                "cannot be compared with the sources that are allowed; write it without `..` and without escapes but "
                "%20",
            )
        elif source.url.startswith("http://") and not rules.plain_http:
            yield (
                (*path, "source", "url"),
                "is fetched without TLS; use https:// or ssh://, or set policies.sources.plainHttp",
            )
        elif lists != [None, None] and not any(read_pattern(entry).allows(source.url) for entry in allowed):
            shown = ", ".join(allowed) or "none at all"
            yield (
                (*path, "source", "url"),
                f"is not among the sources that the stack allows this tenant ({shown}); {remedy}",
            )


def _unverified_source(path: Path, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    source, rules = tenant.source, config.policies.sources
    verified = {*rules.verified, *tenant.policies.verified}
    if _in_use(PolicyName.VERIFIED_SOURCES, config) and GIT_REPOSITORY in verified and source.verify is None:
        yield (
            (*path, "source"),
            f"has no verify, but a {GIT_REPOSITORY} of this tenant must be verified (policies.sources.verified, or "
            f"policies.verified of {dotted(path)}); name the keys of who signs in verify.keys",
        )


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
            yield (
                (*path, *key),
                f"{interval} is shorter than policies.minimumInterval, which is {shortest}; lengthen it",
            )


def _refused_timeouts(path: Path, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    if not _in_use(PolicyName.RECONCILIATION_TIMEOUT, config):
        return
    longest = config.policies.maximum_timeout
    timeouts = {("source", "timeout"): tenant.source.timeout, ("sync", "timeout"): tenant.sync.timeout}
    for key, timeout in timeouts.items():
        if seconds(timeout) > seconds(longest):
            yield (*path, *key), f"{timeout} is longer than policies.maximumTimeout, which is {longest}; shorten it"


def _of_each_tenant(check: Callable[[Path, TenantConfig, StackConfig], Iterator[Finding]]) -> Check:
    def of_all(config: StackConfig) -> Iterator[Finding]:
        for name, tenant in config.tenants.items():
            yield from check(("tenants", name), tenant, config)

    return of_all


POLICY_CHECKS: tuple[Check, ...] = (
    _not_installed,
    _without_kyverno,
    _signatures_under_other_names,
    _of_each_tenant(_refused_source),
    _of_each_tenant(_unverified_source),
    _of_each_tenant(_refused_intervals),
    _of_each_tenant(_refused_timeouts),
)
