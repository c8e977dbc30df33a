"""Checks of policies against the rest of the stack, and of the exceptions from them: freezes and grants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.entries import NOT_COMPARABLE, is_comparable, problem_of
from flux_tenancy.components.config.errors import BEYOND, NO_EFFECT, NOT_ALLOWED, UNKNOWN, KeyPath, Problem, dotted
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.config.types import EXPIRED, now, seconds, today
from flux_tenancy.components.git.config import NO_PROVIDER_ACCOUNT, GitSource
from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.rbac.rights import READ
from flux_tenancy.components.sources.config import BucketSource, ExternalArtifactSource
from flux_tenancy.components.sources.objects import FetchedSource, fetched_url, is_encrypted
from flux_tenancy.components.stack.checks import NEEDS_ENGINE, NOT_INSTALLED, Finding, not_a_tenant, of_each
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.freezes import Freeze, freezes_of, in_utc
from flux_tenancy.components.tenant.grants import Grant, has_expired, refused_group
from flux_tenancy.components.tenant.role import PolicyRule
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, Controller

if TYPE_CHECKING:
    from flux_tenancy.components.cluster.client import NamespacedKind
    from flux_tenancy.components.policies.config import PoliciesConfig
    from flux_tenancy.components.stack.checks import Check
    from flux_tenancy.components.tenant.config import TenantConfig
    from flux_tenancy.components.tenant.syncs import TenantSync


def _not_installed(config: StackConfig) -> Iterator[Finding]:
    """Policies for Kyverno in a stack that does not install it."""
    if config.policies.engine.kyverno and config.kyverno is None:
        yield (
            ("policies", "engine"),
            NOT_INSTALLED(value=config.policies.engine.value, section="kyverno", instead="engine to native"),
        )


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
            yield ("policies", *path), NEEDS_ENGINE(what="Kyverno", engine=policies.engine.value)


def _signatures_under_other_names(config: StackConfig) -> Iterator[Finding]:
    """Signatures that another name of the same registry, such as one with a port, would circumvent."""
    if config.policies.images.signatures and config.policies.images.allowed is None:
        yield (
            ("policies", "images", "signatures"),
            Message(
                "FT-CFG-672",
                "lists images that policies.images.allowed does not limit, so they could be run unsigned under "
                "another name",
                "add the images that tenants may run to policies.images.allowed",
            ),
        )


def is_in_use(policy: PolicyName, config: StackConfig) -> bool:
    """Whether admission denies what a policy refuses, or warns about it."""
    policies = config.policies
    return policies.engine is not PolicyEngine.NONE and policies.mode_of(policy) is not PolicyMode.OFF


def _sources(owner: str, tenant: TenantConfig, config: StackConfig) -> Iterator[tuple[KeyPath, FetchedSource]]:
    """Each source of a tenant that Flux fetches, by the path of its keys."""
    if tenant.source is not None:
        yield ("tenants", owner, "source"), tenant.source
    for key, source in tenant.sources.items():
        if not isinstance(source, ExternalArtifactSource):
            yield config.path_of_source(owner, key), source


def _refused_source(owner: str, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    """A tenant's source that admission would deny half way, or that is not encrypted."""
    if not is_in_use(PolicyName.ALLOWED_SOURCES, config):
        return
    rules = config.policies.sources
    for key, source in _sources(owner, tenant, config):
        url, field = fetched_url(source), "endpoint" if isinstance(source, BucketSource) else "url"
        if not is_comparable(url):
            yield (*key, field), NOT_COMPARABLE(problem=problem_of(url))
        elif not is_encrypted(source) and not rules.plain_http:
            yield (
                (*key, "insecure" if getattr(source, "insecure", False) else field),
                Message("FT-CFG-674", "is fetched without TLS", "use https:// or ssh://"),
            )


def _refused_options(owner: str, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    """Options of a tenant's source that admission would deny."""
    if not is_in_use(PolicyName.SOURCE_OPTIONS, config):
        return
    rules = config.policies.sources
    for key, source in _sources(owner, tenant, config):
        if getattr(source, "proxy", None) is not None:
            yield (
                (*key, "proxy"),
                Message("FT-SRC-049", "is refused by the admission policy source-options", "remove it"),
            )
        provider = getattr(source, "provider", None)
        if provider not in (None, "generic", *rules.providers):
            yield (
                (*key, "provider"),
                Message("FT-SRC-050", "is not in policies.sources.providers", "add it there, or use credentials").of(
                    provider
                ),
            )
        elif isinstance(source, BucketSource) and provider != "generic" and not source.logs_in:
            yield (*key, "provider"), NO_PROVIDER_ACCOUNT(provider=provider)
        region = getattr(source, "region", None)
        if region is not None and rules.bucket_regions and region not in rules.bucket_regions:
            yield (
                (*key, "region"),
                UNKNOWN(what="in policies.sources.bucketRegions", choices=", ".join(rules.bucket_regions)).of(region),
            )


def _unverified_source(owner: str, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    path: KeyPath = ("tenants", owner)
    verified = {*config.policies.sources.verified, *tenant.policies.verified}
    if not is_in_use(PolicyName.VERIFIED_SOURCES, config):
        return
    for key, source in _sources(owner, tenant, config):
        kind = GIT_REPOSITORY if isinstance(source, GitSource) else source.kind
        if kind in verified and getattr(source, "verify", None) is None:
            yield (
                key,
                Message(
                    "FT-CFG-676",
                    f"has no verify, but a {kind} of this tenant must be verified (policies.sources.verified, or "
                    f"policies.verified of {dotted(path)})",
                    "add the signers' keys to verify.keys",
                ),
            )


def _refused_intervals(owner: str, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    if not is_in_use(PolicyName.RECONCILIATION_INTERVAL, config):
        return
    shortest = tenant.policies.minimum_interval or config.policies.minimum_interval
    intervals = {(*key, "interval"): source.interval for key, source in _sources(owner, tenant, config)}
    for below, sync in _syncs(tenant).items():
        key = ("tenants", owner, *below)
        intervals |= {(*key, "interval"): sync.interval, (*key, "retryInterval"): sync.retry_interval}
    for name, release in tenant.releases.items():
        key = ("tenants", owner, "releases", name)
        intervals |= {(*key, "interval"): release.interval, (*key, "chartInterval"): release.chart_interval}
        if release.retry_interval is not None:
            intervals[(*key, "retryInterval")] = release.retry_interval
    for key, interval in intervals.items():
        if seconds(interval) < seconds(shortest):
            yield (
                key,
                BEYOND(beyond="shorter", bound="policies.minimumInterval", most=shortest, within="more").of(interval),
            )


def _refused_timeouts(owner: str, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    if not is_in_use(PolicyName.RECONCILIATION_TIMEOUT, config):
        return
    longest = tenant.policies.maximum_timeout or config.policies.maximum_timeout
    timeouts = {(*key, "timeout"): source.timeout for key, source in _sources(owner, tenant, config)}
    timeouts |= {("tenants", owner, *key, "timeout"): sync.timeout for key, sync in _syncs(tenant).items()}
    timeouts |= {
        ("tenants", owner, "releases", name, "timeout"): each.timeout for name, each in tenant.releases.items()
    }
    for key, timeout in timeouts.items():
        if seconds(timeout) > seconds(longest):
            yield key, BEYOND(beyond="longer", bound="policies.maximumTimeout", most=longest, within="less").of(timeout)


def _unlimited_developers(owner: str, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    """Developers in a stack that does not enforce what RBAC cannot: which fields a patch changes."""
    if tenant.people.developers and (lacking := _not_enforced((PolicyName.FLUX_REQUESTS,), config.policies)):
        yield ("tenants", owner, "people", "developers"), _UNGUARDED(lacking=", ".join(lacking))


def _syncs(tenant: TenantConfig) -> dict[KeyPath, TenantSync]:
    """All syncs of a tenant by the paths of their keys."""
    own: dict[KeyPath, TenantSync] = {("sync",): tenant.sync} if tenant.has_syncs else {}
    return own | {("syncs", name): each for name, each in tenant.syncs.items()}


def _unguarded_delegation(owner: str, tenant: TenantConfig, config: StackConfig) -> Iterator[Finding]:
    """A tenant that may write role bindings where no policy protects the platform's and restricts their subjects."""
    lacking = _not_enforced(_NEEDED_FOR_ROLES, config.policies)
    for index, namespace in enumerate(tenant.namespaces if lacking else ()):
        if namespace.delegated_to is not None:
            yield ("tenants", owner, "namespaces", index, "delegatedTo"), _UNGUARDED(lacking=", ".join(lacking))


def _unguarded_openings(config: StackConfig) -> Iterator[Finding]:
    """The same for all tenants of the stack, and network policies that no policy judges."""
    policies = config.policies
    openings = {
        "roles": (policies.roles, _NEEDED_FOR_ROLES),
        "networkPolicies": (policies.network_policies, (PolicyName.PLATFORM_OBJECTS, PolicyName.TENANT_LIMITS)),
    }
    for key, (is_open, needed) in openings.items():
        if is_open and (lacking := _not_enforced(needed, policies)):
            yield ("policies", key), _UNGUARDED(lacking=", ".join(lacking))


_NEEDED_FOR_ROLES = (PolicyName.PLATFORM_OBJECTS, PolicyName.TENANT_ACCESS, PolicyName.TENANT_SERVICE_ACCOUNT)
_UNGUARDED = Wording(
    "FT-TEN-421",
    "needs the admission policies {lacking}, which are not enforced",
    "set policies.engine, and enforce them in policies.mode and policies.modes",
)


def _not_enforced(needed: Iterable[PolicyName], policies: PoliciesConfig) -> list[PolicyName]:
    enforced = policies.engine is not PolicyEngine.NONE
    return [each for each in needed if not (enforced and policies.mode_of(each) is PolicyMode.ENFORCE)]


POLICY_CHECKS: tuple[Check, ...] = (
    _not_installed,
    _without_kyverno,
    _signatures_under_other_names,
    _unguarded_openings,
    *of_each(
        lambda config: config.active_tenants,
        _refused_source,
        _refused_options,
        _unverified_source,
        _refused_intervals,
        _refused_timeouts,
        _unlimited_developers,
        _unguarded_delegation,
    ),
)


_OF_LEASES = ("--enable-leader-election", "--watch-label-selector")


def _unknown_tenants(config: StackConfig) -> Iterator[Finding]:
    for index, freeze in enumerate(config.tenancy.freeze):
        for position, name in enumerate(freeze.except_):
            if name not in config.tenants:
                yield ("tenancy", "freeze", index, "except", position), not_a_tenant(config, name)


def _without_policy(config: StackConfig) -> Iterator[Finding]:
    policies = config.policies
    if policies.engine is PolicyEngine.NONE or policies.mode_of(PolicyName.FREEZE) is PolicyMode.OFF:
        for path, _ in _freezes(config):
            yield (
                path,
                NO_EFFECT(
                    reason="the policy freeze is off",
                    remedy="set policies.engine and policies.modes.freeze, or remove the freeze",
                ),
            )


def _without_clock(config: StackConfig) -> Iterator[Finding]:
    """Arguments with which kustomize-controller renews no Lease, or one of another name."""
    given = config.flux.extra_args.get(Controller.KUSTOMIZE, ())
    if config.has_freezes and any(each.startswith(_OF_LEASES) for each in given):
        yield (
            ("flux", "extraArgs", Controller.KUSTOMIZE.value),
            NOT_ALLOWED(
                what=f"one of {', '.join(_OF_LEASES)}",
                owner="a freeze",
                why="it reads the time from the controller's usual Lease",
            ),
        )


FREEZE_CHECKS = (_unknown_tenants, _without_policy, _without_clock)


def freeze_warnings(config: StackConfig) -> Iterator[Message]:
    """What is frozen now, and the freezes that have ended."""
    time = now()
    for path, freeze in _freezes(config):
        where, what = f"{'.'.join(map(str, path[:-1]))}[{path[-1]}]", printable(freeze.reason)
        if freeze.to <= time:
            yield Message("FT-TEN-435", f"{where} ({what}) ended at {in_utc(freeze.to)}", "remove it")
        elif freeze.from_ <= time:
            held = [name for name, each in config.tenants.items() if freeze in freezes_of(name, each, config.tenancy)]
            yield Message(
                "FT-TEN-436",
                f"{where} ({what}) holds the changes of {', '.join(held) or 'no tenant'} until {in_utc(freeze.to)}",
                "for a change that cannot wait, grant the tenant an exception from the policy freeze",
            )


def _freezes(config: StackConfig) -> Iterator[tuple[KeyPath, Freeze]]:
    """Each freeze with its path."""
    for index, of_stack in enumerate(config.tenancy.freeze):
        yield ("tenancy", "freeze", index), of_stack
    for name, tenant in config.tenants.items():
        for index, freeze in enumerate(tenant.freeze):
            yield ("tenants", name, "freeze", index), freeze


WARNING = timedelta(days=14)
"""How long before its last day a grant is warned about."""


def expired_grants(config: StackConfig) -> Iterator[Finding]:
    """Grants whose last day has passed: whoever updates the stack has to decide about them."""
    now = today()
    for path, grant in _grants(config):
        if has_expired(grant, now):
            yield (*path, "expires"), EXPIRED(today=now, decision="grant").of(str(grant.expires))


def ungrantable_groups(config: StackConfig) -> Iterator[Finding]:
    """Rights over objects of API groups that the stack does not list as grantable."""
    listed = config.tenancy.grantable_groups
    for path, group in _groups(config):
        if group not in listed:
            refused = refused_group(group) or Message(
                "FT-TEN-413",
                "is not in tenancy.grantableGroups: a tenant that writes objects of this API group uses the rights "
                "of their controller",
                "if that controller isolates tenants from each other, add to the tenancy section: "
                f"`grantableGroups: [{', '.join([*listed, group])}]`",
            )
            yield path, refused.of(group)


def _groups(config: StackConfig) -> Iterator[tuple[KeyPath, str]]:
    """The API group of everything that is granted to tenants, each with its path."""
    for path, grant in _grants(config):
        for index, rule in enumerate(grant.rules):
            for position, group in enumerate(rule.api_groups):
                yield (*path, "rules", index, "apiGroups", position), group
        for index, each in enumerate(grant.cluster_objects):
            key = "apiGroup" if each.kinds_group == each.api_group else "name"
            yield (*path, "clusterObjects", index, key), each.kinds_group
    for index, extra in enumerate(config.tenancy.extra_rules):
        if not _only_reads(extra):
            for position, group in enumerate(extra.api_groups):
                yield ("tenancy", "extraRules", index, "apiGroups", position), group


def _only_reads(rule: PolicyRule) -> bool:
    """Whether a rule allows nothing but to read objects; to get a subresource may be to connect to a Pod."""
    return set(rule.verbs) <= set(READ) and not any("/" in each or "*" in each for each in rule.resources)


def expiring_grants(config: StackConfig) -> Iterator[Message]:
    """A warning for each grant that will soon stop updates."""
    now = today()
    for path, grant in _grants(config):
        if grant.expires is not None and now <= grant.expires <= now + WARNING:
            _, tenant, _, index = path
            reason = printable(grant.reason)
            yield Message(
                "FT-TEN-411",
                f"tenant {tenant}: grants[{index}] ({reason}) expires on {grant.expires}; updates are refused "
                "after that",
                "remove the grant, or have the platform team agree to a later date",
            )


def namespaced_objects(
    config: StackConfig, read_kinds: Callable[[], Iterable[NamespacedKind]], stack_file: str
) -> list[Problem]:
    """Grants of one cluster-scoped object whose resource is namespaced in the cluster.

    A ClusterRole would allow objects of this name in all namespaces, those of other tenants included.

    Args:
        read_kinds: reads the namespaced kinds of the cluster; it is called only if a tenant has such a grant.
    """
    named = {
        (*path, "clusterObjects", index, "resource"): each
        for path, grant in _grants(config)
        for index, each in enumerate(grant.cluster_objects)
    }
    if not named:
        return []
    namespaced = {(kind.root.split("/")[2], kind.resource) for kind in read_kinds() if kind.root.startswith("/apis/")}
    return [
        Problem(
            stack_file,
            dotted(path),
            Message(
                "FT-TEN-410",
                "is a namespaced resource, so the grant would apply to objects of this name in every namespace",
                "grant it in rules",
            ).of(each.resource),
        )
        for path, each in named.items()
        if (each.api_group, each.resource) in namespaced
    ]


def _grants(config: StackConfig) -> Iterator[tuple[KeyPath, Grant]]:
    """The grants of all tenants, each with its path; policies still read those of a tenant that is leaving."""
    for name, tenant in config.tenants.items():
        for index, grant in enumerate(tenant.grants):
            yield ("tenants", name, "grants", index), grant
