"""Checks of a tenant's Helm releases: where their charts are, dependencies, namespaces and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flux_tenancy.components.config.errors import dotted
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.stack.checks.check import of_each
from flux_tenancy.components.stack.checks.policies import is_in_use
from flux_tenancy.components.stack.checks.sources import UNKNOWN_SOURCE
from flux_tenancy.components.stack.checks.syncs import foreign_namespace, unusable_dependencies
from flux_tenancy.components.tenant.releases import CHART_KINDS, OF_CHARTS, ReleaseConfig
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, HELM_CHART, HELM_REPOSITORY, OCI_REPOSITORY

if TYPE_CHECKING:
    from flux_tenancy.components.config.errors import KeyPath
    from flux_tenancy.components.stack.checks.check import Finding
    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.tenant.config import TenantConfig


def _path(tenant: str, release: str) -> KeyPath:
    return "tenants", tenant, "releases", release


def _dependencies(tenant: str, config: TenantConfig, _: StackConfig) -> Iterator[Finding]:
    needed = {name: release.depends_on for name, release in config.releases.items()}
    paths = {name: (*_path(tenant, name), "dependsOn") for name in needed}
    yield from unusable_dependencies(needed, paths, "releases")


def _own_namespaces(tenant: str, config: TenantConfig, _: StackConfig) -> Iterator[Finding]:
    own = config.namespace_names
    for name, release in config.releases.items():
        if release.target_namespace is not None and release.target_namespace not in own:
            yield (*_path(tenant, name), "targetNamespace"), foreign_namespace(release.target_namespace, own)


def _numbers(tenant: str, config: TenantConfig, stack: StackConfig) -> Iterator[Finding]:
    """More releases than the quota of the home namespace admits, so that an update would fail half way."""
    limit = config.limits_in(config.home, stack.tenancy.limits).most_helm_releases
    if len(config.releases) > limit:
        yield (
            ("tenants", tenant, "releases"),
            Message(
                "FT-TEN-314",
                f"has {len(config.releases)} entries, but the tenant may have {limit} HelmReleases",
                "remove entries, or raise limits.helmReleases of the tenant",
            ),
        )


def _sources(tenant: str, config: TenantConfig, stack: StackConfig) -> Iterator[Finding]:
    """Sources that do not exist; what is shared with the tenant has errors of its own."""
    for name, release in config.releases.items():
        path, wanted = (*_path(tenant, name), "source"), release.source
        known = ", ".join(config.sources) or "`sources`"
        if wanted is None and config.source is None:
            yield (
                path,
                Message("FT-TEN-321", "is required, because the tenant has no `source`", f"choose one of {known}"),
            )
        elif wanted is not None and _kind(config, release) is None and wanted not in stack.shared:
            yield path, UNKNOWN_SOURCE(names=known).of(wanted)


def _charts(tenant: str, config: TenantConfig, _: StackConfig) -> Iterator[Finding]:
    """Keys that do not go with the kind of source that has the chart."""
    for name, release in config.releases.items():
        path, kind = _path(tenant, name), _kind(config, release)
        if kind in CHART_KINDS:
            own = {"chart": release.chart, "version": release.version, "valuesFiles": release.values_files}
            given = {key: value for key, value in own.items() if value} | release.further
            for key in (*own, *OF_CHARTS):
                if key in given:
                    yield (
                        (*path, key),
                        Message("FT-TEN-316", f"is ignored, because a {kind} is the chart itself", "remove it"),
                    )
        elif kind is not None:
            if release.chart is None:
                yield (
                    (*path, "chart"),
                    Message("FT-TEN-315", f"is required, because a {kind} can contain several charts"),
                )
            elif ".." in release.chart.split("/"):
                yield (
                    (*path, "chart"),
                    Message("FT-TEN-318", "is outside of its source", "name a chart inside of the source").of(
                        release.chart
                    ),
                )
            if release.version is not None and kind != HELM_REPOSITORY:
                yield (
                    (*path, "version"),
                    Message(
                        "FT-TEN-317",
                        f"is ignored by Flux for charts from a {kind}",
                        "remove it, and select the revision in the source",
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
                (*_path(tenant, name), "source"),
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


RELEASE_CHECKS = of_each(
    lambda config: config.active_tenants, _dependencies, _own_namespaces, _numbers, _sources, _charts, _unverified
)
