"""Checks of what Flux applies for a tenant: names, dependencies and numbers of its syncs and Helm releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.config.errors import MISSING, NO_EFFECT, NOT_A, RESERVED, UNKNOWN, dotted
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.stack.checks import Finding, of_each
from flux_tenancy.components.stack.checks.policies import is_in_use
from flux_tenancy.components.stack.checks.sources import NO_SOURCE, unknown_source
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.config import FOREIGN_TARGET_NAMESPACE, TenantConfig
from flux_tenancy.components.tenant.releases import CHART_KINDS, OF_CHARTS, ReleaseConfig
from flux_tenancy.components.tenant.syncs import circle
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, HELM_CHART, HELM_REPOSITORY, OCI_REPOSITORY

if TYPE_CHECKING:
    from flux_tenancy.components.config.errors import KeyPath

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
