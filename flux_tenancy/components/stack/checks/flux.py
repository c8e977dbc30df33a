"""Checks of what Flux fetches, applies and tells for a tenant, and of what is passed on to its objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.config.errors import MISSING, NO_EFFECT, NOT_A, RESERVED, UNKNOWN, dotted
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.section import owned_fields
from flux_tenancy.components.config.types import is_sealed
from flux_tenancy.components.installs.flux.config import Profile
from flux_tenancy.components.installs.flux.lockdown_flags import EXTERNAL_ARTIFACT, enables
from flux_tenancy.components.installs.flux.release import Definitions
from flux_tenancy.components.policies.notifications import refused_address
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.sources.config import ExternalArtifactSource
from flux_tenancy.components.stack.checks import Finding, not_a_tenant, of_each
from flux_tenancy.components.stack.checks.policies import is_in_use
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.sync.notifications import Address, Notification, stated_address
from flux_tenancy.components.tenant.config import FOREIGN_TARGET_NAMESPACE, TenantConfig
from flux_tenancy.components.tenant.releases import CHART_KINDS, OF_CHARTS, ReleaseConfig
from flux_tenancy.components.tenant.syncs import circle
from flux_tenancy.components.vocabulary.names import (
    APPLIED_SOURCES,
    GIT_REPOSITORY,
    HELM_CHART,
    HELM_RELEASE,
    HELM_REPOSITORY,
    KUSTOMIZATION,
    OCI_REPOSITORY,
    PLATFORM_META,
    Controller,
    SecretPurpose,
)

if TYPE_CHECKING:
    from flux_tenancy.components.config.errors import KeyPath, Problem
    from flux_tenancy.components.config.section import Section
    from flux_tenancy.components.stack.checks import Check
    from flux_tenancy.components.vocabulary.manifests import Manifest


NEEDS_GATE = Wording(
    "FT-CFG-655",
    "needs the feature gate {gate}, which is not set",
    "add `--feature-gates={gate}=true` to flux.extraArgs.{controller}",
)
NO_TOKENS = Wording(
    "FT-CFG-654", "needs tokens of a service account, which Flux may not create", "set flux.workloadIdentity to true"
)
NO_SOURCE = Wording("FT-SRC-040", "is required, because the tenant has no `source`", "name one of {names}")


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


TOO_MANY = Wording(
    "FT-TEN-313",
    "has {count} entries, but the tenant may have {most} {what}",
    "remove entries, or raise limits.{key} of the tenant",
)


def release_path(tenant: str, release: str) -> KeyPath:
    return "tenants", tenant, "releases", release


def sync_paths(tenant: str, config: TenantConfig) -> dict[str, KeyPath]:
    """The path of each sync's keys, by the name of its Kustomization."""
    return {tenant: ("tenants", tenant, "sync")} | {name: ("tenants", tenant, "syncs", name) for name in config.syncs}


def _own_names(tenant: str, config: TenantConfig, _: StackConfig) -> Iterator[Finding]:
    if tenant in config.syncs:
        yield ("tenants", tenant, "syncs", tenant), RESERVED(owner="the tenant's own sync")


def _dependencies(tenant: str, config: TenantConfig, _: StackConfig) -> Iterator[Finding]:
    paths = sync_paths(tenant, config)
    needed = {name: sync.depends_on for name, sync in config.all_syncs(tenant).items()}
    yield from unusable_dependencies(needed, {name: (*path, "dependsOn") for name, path in paths.items()}, "syncs")
    needed = {name: release.depends_on for name, release in config.releases.items()}
    paths = {name: (*release_path(tenant, name), "dependsOn") for name in needed}
    yield from unusable_dependencies(needed, paths, "releases")


def _own_namespaces(tenant: str, config: TenantConfig, _: StackConfig) -> Iterator[Finding]:
    """Namespaces that are not the tenant's; the one of `sync.targetNamespace` is checked with its section."""
    own = config.namespace_names
    paths = sync_paths(tenant, config)
    given: dict[KeyPath, object] = {}
    for name, sync in config.all_syncs(tenant).items():
        given |= {(*paths[name], "targetNamespace"): sync.target_namespace} if name != tenant else {}
        checks = enumerate(sync.health_checks)
        given |= {(*paths[name], "healthChecks", at, "namespace"): each.get("namespace") for at, each in checks}
    for name, release in config.releases.items():
        given[*release_path(tenant, name), "targetNamespace"] = release.target_namespace
    for path, namespace in given.items():
        if namespace is not None and namespace not in own:
            yield path, FOREIGN_TARGET_NAMESPACE(choices=", ".join(own)).of(namespace)


def _numbers(tenant: str, config: TenantConfig, stack: StackConfig) -> Iterator[Finding]:
    """More syncs or releases than the quota of the home namespace admits, so that an update would fail half way."""
    limits = config.limits_in(config.home, stack.tenancy.limits)
    if len(config.syncs) > (most := limits.most_kustomizations):
        yield (
            ("tenants", tenant, "syncs"),
            TOO_MANY(
                count=len(config.syncs), most=most, what="Kustomizations besides its own sync", key="kustomizations"
            ),
        )
    if len(config.releases) > (most := limits.most_helm_releases):
        yield (
            ("tenants", tenant, "releases"),
            TOO_MANY(count=len(config.releases), most=most, what="HelmReleases", key="helmReleases"),
        )


def unusable_dependencies(
    needed: Mapping[str, Sequence[str]], paths: Mapping[str, KeyPath], kind: str
) -> Iterator[Finding]:
    """Dependencies on what does not exist, and those that lead in a circle.

    Args:
        needed: name -> the names that it depends on.
        paths: name -> the path of these names.
    """
    for name, several in needed.items():
        for index, each in enumerate(several):
            if each not in needed:
                known = ", ".join(other for other in needed if other != name) or "none"
                yield (*paths[name], index), UNKNOWN(what=f"one of the tenant's {kind}", choices=known).of(each)
    if found := circle(needed):
        yield (
            paths[found[0]],
            Message("FT-TEN-312", f"is circular: {' -> '.join(found)}", "remove one of these dependencies"),
        )


def _sources(tenant: str, config: TenantConfig, stack: StackConfig) -> Iterator[Finding]:
    """Sources that do not exist; what is shared with the tenant has errors of its own."""
    for name, release in config.releases.items():
        path, wanted = (*release_path(tenant, name), "source"), release.source
        known = ", ".join(config.sources) or "`sources`"
        if wanted is None and config.source is None:
            yield path, NO_SOURCE(names=known)
        elif wanted is not None and _kind(config, release) is None and wanted not in stack.shared:
            yield path, unknown_source(config, wanted)


def _charts(tenant: str, config: TenantConfig, _: StackConfig) -> Iterator[Finding]:
    """Keys that do not go with the kind of source that has the chart."""
    for name, release in config.releases.items():
        path, kind = release_path(tenant, name), _kind(config, release)
        if kind in CHART_KINDS:
            own = {"chart": release.chart, "version": release.version, "valuesFiles": release.values_files}
            given = {key: value for key, value in own.items() if value} | release.further
            for key in (*own, *OF_CHARTS):
                if key in given:
                    yield (*path, key), NO_EFFECT(reason=f"a {kind} is the chart itself", remedy="remove it")
        elif kind is not None:
            if release.chart is None:
                yield (*path, "chart"), MISSING()
            elif ".." in release.chart.split("/"):
                yield (
                    (*path, "chart"),
                    NOT_A(what="a chart inside of its source", example="./charts/app").of(release.chart),
                )
            if release.version is not None and kind != HELM_REPOSITORY:
                yield (
                    (*path, "version"),
                    NO_EFFECT(
                        reason=f"Flux ignores it for charts from a {kind}",
                        remedy="remove it, and select the revision in the source",
                    ),
                )


def _unverified(tenant: str, config: TenantConfig, stack: StackConfig) -> Iterator[Finding]:
    """Charts that admission would refuse, because charts must be signed."""
    verified = {*stack.policies.sources.verified, *config.policies.verified}
    if not is_in_use(PolicyName.VERIFIED_SOURCES, stack) or HELM_CHART not in verified:
        return
    for name, release in config.releases.items():
        kind = _kind(config, release)
        if kind is not None and not (kind == OCI_REPOSITORY and kind in verified):
            yield (
                (*release_path(tenant, name), "source"),
                Message(
                    "FT-TEN-319",
                    "has charts that Flux does not verify here, but charts of this tenant must be verified "
                    f"(policies.sources.verified, or policies.verified of {dotted(('tenants', tenant))})",
                    "take the chart from an OCIRepository with verify, and list OCIRepository there, too",
                ),
            )


def _kind(config: TenantConfig, release: ReleaseConfig) -> str | None:
    """The kind of source that has the chart; None if there is no such source."""
    if release.source is None:
        return GIT_REPOSITORY if config.source is not None else None
    source = config.sources.get(release.source)
    return source.kind if source is not None else None


SYNC_CHECKS = of_each(
    lambda config: config.active_tenants,
    _own_names,
    _dependencies,
    _own_namespaces,
    _numbers,
    _sources,
    _charts,
    _unverified,
)


PROVIDERS_WITHOUT_LIST = Wording(
    "FT-MSG-063", "opens Providers to tenant {tenant}, but no allowed host is set", "list the hosts in {keys}"
)

PROVIDER = "Provider"

NO_CONTROLLER = Wording("FT-CFG-661", "needs {controller}, but flux.components does not list it", "add it there")


def _without_controller(config: StackConfig) -> Iterator[Finding]:
    if Controller.NOTIFICATION in config.flux.components:
        return
    places: dict[KeyPath, object] = {
        ("flux", "notifications"): config.flux.notifications,
        ("tenancy", "notifications"): config.tenancy.notifications,
    }
    places |= {("tenants", name, "notifications"): each.notifications for name, each in config.active_tenants.items()}
    for path, found in places.items():
        if found:
            yield path, NO_CONTROLLER(controller=Controller.NOTIFICATION)


def _names_of_the_platform(config: StackConfig) -> Iterator[Finding]:
    """Notifications of a tenant whose objects would have the names of the platform's."""
    for name, tenant in config.active_tenants.items():
        for key in tenant.notifications:
            if key in config.tenancy.notifications:
                yield ("tenants", name, "notifications", key), RESERVED(owner="a notification of tenancy.notifications")


def _names_of_other_secrets(config: StackConfig) -> Iterator[Finding]:
    """Notifications whose Secret would have the name of one for a source, sync or release of a tenant."""
    others = {
        f"{name}.{each}"
        for name, tenant in config.active_tenants.items()
        for each in (*tenant.sources, *tenant.syncs, *tenant.releases)
    }
    for name, tenant in config.active_tenants.items():
        for key, notification in tenant.notifications.items():
            other, _, purpose = f"{tenant.home}.{key}".rpartition("-")
            if notification.has_secret and other in others and purpose in list(SecretPurpose):
                yield (
                    ("tenants", name, "notifications", key),
                    RESERVED(owner=f"{other}: its Secret for {purpose} would have the same name"),
                )


def _without_repository(config: StackConfig) -> Iterator[Finding]:
    """Notifications to the repository of a tenant that has none."""
    for name, tenant in config.active_tenants.items():
        if tenant.repository_url is not None:
            continue
        for key, each in tenant.notifications.items():
            stated = each.address is not None or each.secret_address is not None
            if each.provider.address is Address.REPOSITORY and not stated:
                yield ("tenants", name, "notifications", key, "address"), MISSING()


def _open_without_lists(config: StackConfig) -> Iterator[Finding]:
    """Providers that are open to tenants, without a type or a host that these may have."""
    rules, for_all = config.policies.notifications, PROVIDER in config.tenancy.kinds
    for name, tenant in config.active_tenants.items():
        if not for_all and PROVIDER not in tenant.policies.kinds:
            continue
        path: KeyPath = ("tenancy", "kinds") if for_all else ("tenants", name, "policies", "kinds")
        if not rules.types:
            yield path, PROVIDERS_WITHOUT_LIST(tenant=name, keys="policies.notifications.types")
        if not rules.hosts and not tenant.policies.notifications:
            keys = f"policies.notifications.hosts, or policies.notifications of tenants.{name}"
            yield path, PROVIDERS_WITHOUT_LIST(tenant=name, keys=keys)


def _refused_addresses(config: StackConfig) -> Iterator[Finding]:
    """Addresses that cannot be compared with anything, or that are not encrypted."""
    if not is_in_use(PolicyName.NOTIFICATION_ADDRESSES, config):
        return
    for name, tenant in config.active_tenants.items():
        for key, notification in tenant.notifications.items():
            yield from _refused_address(("tenants", name, "notifications", key), notification, tenant, config)
        for key, notification in config.tenancy.notifications.items():
            yield from _refused_address(("tenancy", "notifications", key), notification, tenant, config)


def _refused_address(
    path: KeyPath, notification: Notification, tenant: TenantConfig, config: StackConfig
) -> Iterator[Finding]:
    secret = notification.secret_address
    if secret is not None and is_sealed(secret):
        return  # Only an update and a preview can read it.
    stated = stated_address(notification, tenant.repository_url)
    address = secret.get_secret_value() if secret is not None else stated
    if (reason := refused_address(config.policies.notifications, notification.type, address)) is not None:
        key = "secretAddress" if secret is not None else "address" if notification.address is not None else "type"
        yield (*path, key), reason


NOTIFICATION_CHECKS: tuple[Check, ...] = (
    _without_controller,
    _names_of_the_platform,
    _names_of_other_secrets,
    _without_repository,
    _open_without_lists,
    _refused_addresses,
)


_WITHIN: Mapping[str, tuple[KeyPath, ...]] = {
    GIT_REPOSITORY: (("ref",),),
    HELM_RELEASE: (("chart", "spec"), ("postRenderers", 0, "kustomize")),
}
"""Where in a `spec` the keys are that the configuration has at the top."""


def spec_problems(config: StackConfig, release: Iterable[Manifest], stack: str, stack_file: str) -> list[Problem]:
    """What the release's definitions refuse of a stack's Flux objects, with the file and the key of each."""
    definitions = Definitions(release, config.flux.version)
    plan = stack_plan(config, stack)
    objects = [("", each) for each in plan.platform]
    objects += [(tenant, each) for tenant, planned in plan.tenants.items() for each in planned]
    sections = dict(_sections(config))
    found: dict[tuple[KeyPath, Message], Problem] = {}
    for owner, each in objects:
        if (owner, each.kind, each.name) not in sections:
            continue
        path, section = sections[owner, each.kind, each.name]
        keys = [field.alias or name for name, field in type(section).model_fields.items()]
        for below, message in definitions.problems(each.manifest, keys):
            for outer in _WITHIN.get(each.kind, ()):
                below = below[len(outer) :] if below[: len(outer)] == outer else below
            # Once for a source that several tenants share.
            found.setdefault(((*path, *below), message), config.problem((*path, *below), message, stack_file))
    return list(found.values())


def _sections(config: StackConfig) -> Iterator[tuple[tuple[str, str, str], tuple[KeyPath, Section]]]:
    """By tenant, or nothing for the platform, kind and name of an object: the section that it is made of."""
    for key, message in config.flux.notifications.items():
        yield from _notification("", f"{PLATFORM_META.name}-{key}", ("flux", "notifications", key), message)
    if (own := config.flux.sync) is not None:
        yield ("", KUSTOMIZATION, PLATFORM_META.name), (("flux", "sync"), own)
        yield ("", GIT_REPOSITORY, PLATFORM_META.name), (("flux", "sync", "source"), own.source)
    for tenant, each in config.active_tenants.items():
        for key, message in config.tenancy.notifications.items():
            yield from _notification(tenant, f"{tenant}-{key}", ("tenancy", "notifications", key), message)
        for key, message in each.notifications.items():
            path = ("tenants", tenant, "notifications", key)
            yield from _notification(tenant, f"{tenant}-{key}", path, message)
        paths = sync_paths(tenant, each)
        for name, sync in each.all_syncs(tenant).items():
            yield (tenant, KUSTOMIZATION, name), (paths[name], sync)
        for name, release in each.releases.items():
            yield (tenant, HELM_RELEASE, name), (("tenants", tenant, "releases", name), release)
        if each.source is not None:
            yield (tenant, GIT_REPOSITORY, tenant), (("tenants", tenant, "source"), each.source)
        for name, source in each.sources.items():
            yield (tenant, source.kind, name), (config.path_of_source(tenant, name), source)


def _notification(
    owner: str, name: str, path: KeyPath, section: Section
) -> Iterator[tuple[tuple[str, str, str], tuple[KeyPath, Section]]]:
    yield from (((owner, kind, name), (path, section)) for kind in ("Alert", "Provider"))


SPEC_CHECKS: tuple[Check, ...] = (owned_fields,)
"""Checks that need no release."""
