"""Stack outputs: what an operator or a tenant needs to know next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pulumi
from pulumi.output import UNKNOWN

from flux_tenancy.components.cluster.client import ClusterFacts, ClusterUnavailable
from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.engine.state import unplanned
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.git.rotation import Rotations
from flux_tenancy.components.git.source import webhook_url
from flux_tenancy.components.installs.flux.component import PlatformSync, platform_path
from flux_tenancy.components.installs.flux.config import PlatformSyncConfig
from flux_tenancy.components.keys.ssh_keys import read_private_key
from flux_tenancy.components.plan import Registered
from flux_tenancy.components.sources.config import ExternalArtifactSource, Source, has_status
from flux_tenancy.components.sources.objects import fetched_url
from flux_tenancy.components.stack.cluster.conflicts import made_namespaces
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.platform import Platform
from flux_tenancy.components.stack.report.progress import (
    FurtherAccess,
    LeavingTenants,
    report_further_access,
    report_leaving,
    settled,
)
from flux_tenancy.components.sync.decryption import Decryption, Environment, sops_config
from flux_tenancy.components.sync.progress import Changes
from flux_tenancy.components.sync.status import FluxObjects, Progress, not_fetched
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.further_access import FurtherBinding, TenantAccess
from flux_tenancy.components.tenant.grants import Grant, in_words
from flux_tenancy.components.tenant.leaving.remaining_objects import Remains
from flux_tenancy.components.tenant.people import listed_people
from flux_tenancy.components.tenant.scope import further_source_meta, source_meta
from flux_tenancy.components.tenant.syncs import source_reference
from flux_tenancy.components.vocabulary.manifests import Find, Manifest
from flux_tenancy.components.vocabulary.names import (
    GIT_REPOSITORY,
    HELM_RELEASE,
    KUSTOMIZATION,
    PLATFORM_META,
    SOURCE_RESOURCES,
    ObjectMeta,
    applied_key,
)
from flux_tenancy.version import VERSION


@dataclass(frozen=True)
class Look:
    """How the cluster is looked at once everything is registered.

    Attributes:
        objects: Flux's objects in the cluster.
        changes: what this update has changed.
        further_access: reads what tenants may do in addition to their role, given what the platform grants them.
        further_controller_access: reads what Flux's controllers may do in addition to what the stack grants them.
        remaining: reads what is left of tenants that are leaving.
        find: returns the cluster's object of the same kind, namespace and name, or None.
        rotating: the previous deploy keys that stay, given the progress of the syncs (`components.git.rotation`).
    """

    objects: FluxObjects
    changes: Changes
    further_access: Callable[[Mapping[str, TenantAccess]], Mapping[str, Sequence[FurtherBinding]]]
    further_controller_access: Callable[[Sequence[Manifest]], Sequence[FurtherBinding]]
    remaining: Callable[[Mapping[str, TenantConfig]], Mapping[str, Mapping[str, Remains]]]
    find: Find
    rotating: Callable[[pulumi.Output[dict[str, Progress]]], Rotations]


def report(config: StackConfig, cluster: ClusterFacts, platform: Platform, look: Look) -> dict[str, Any]:
    """Wait for the syncs, warn about what an operator has to know, and return the outputs of the stack."""
    timeout = seconds(config.tenancy.settle_timeout)
    namespaces = {name: tenant.namespace_names for name, tenant in config.tenants.items()}
    progress = settled(timeout, platform, look.objects, look.changes, namespaces)
    further = report_further_access(config, platform, progress, look.further_access, look.further_controller_access)
    fetching = fetched(config.further_sources, progress, look.find)
    leaving = report_leaving(config, look.remaining)
    return stack_outputs(config, cluster, platform, progress, further, look.rotating(progress), leaving, fetching)


def stack_outputs(
    config: StackConfig,
    cluster: ClusterFacts,
    platform: Platform,
    progress: pulumi.Output[dict[str, Progress]],
    further: pulumi.Output[FurtherAccess],
    rotating: Rotations,
    leaving: pulumi.Output[LeavingTenants],
    fetching: pulumi.Output[dict[str, str]],
) -> dict[str, Any]:
    """All outputs of the stack.

    Args:
        progress: progress of each sync (`settled`).
        further: what tenants may do in addition to their role (`report_further_access`).
        rotating: the previous deploy keys that stay (`rotations`).
        leaving: what is left of tenants that are leaving (`report_leaving`).
        fetching: whether the tenants' further sources have been fetched as they are now (`fetched`).
    """
    sync, flux, kyverno, capsule = config.flux.sync, platform.flux, platform.kyverno, platform.capsule
    progress, further, leaving = unplanned(progress), unplanned(further), unplanned(leaving)
    fetching = unplanned(fetching)
    own = (
        {"sync": _platform(sync, platform.sync, config.flux.webhook_url, progress, rotating)}
        if sync and platform.sync
        else {}
    )
    return {
        "program": VERSION,
        "cluster": {"uid": cluster.uid, "version": cluster.version, "context": config.cluster.context},
        "flux": {"version": flux.version, "profile": flux.profile} | own,
        **({"kyverno": {"version": kyverno.version}} if kyverno is not None else {}),
        **({"capsule": {"version": capsule.version}} if capsule is not None else {}),
        "tenants": {
            name: _made(name, config, cluster)
            | (
                _leaving(name, config.tenants[name], leaving)
                if config.tenants[name].is_leaving
                else _tenant(name, config, each.registered, progress, further, rotating, fetching)
            )
            for name, each in platform.tenants.items()
        },
    }


def _made(name: str, config: StackConfig, cluster: ClusterFacts) -> dict[str, Any]:
    """The namespaces that a tenant had made itself when the update began; nothing where tenants make none."""
    if not config.makes_namespaces:
        return {}
    return {"madeNamespaces": made_namespaces(cluster, name, config.tenants[name].namespace_names)}


def _leaving(name: str, tenant: TenantConfig, leaving: pulumi.Output[LeavingTenants]) -> dict[str, Any]:
    return {
        "namespaces": list(tenant.namespace_names),
        "state": tenant.state.value,
        "left": leaving.apply(lambda found: found.get(name, {})),
    }


def _tenant(
    name: str,
    config: StackConfig,
    registered: Registered,
    progress: pulumi.Output[dict[str, Progress]],
    further: pulumi.Output[FurtherAccess],
    rotating: Rotations,
    fetching: pulumi.Output[dict[str, str]],
) -> dict[str, Any]:
    own, webhooks = config.tenants[name], config.flux.webhook_url
    git = (
        {}
        if own.source is None
        else _source(source_meta(name, own), own.source, registered, config.flux.webhook_url, rotating)
    )
    sources = {
        key: _further(meta, source, registered, webhooks, rotating, fetching)
        for key, source in own.sources.items()
        for meta in [further_source_meta(name, own, key)]
    }
    return {
        "namespaces": list(own.namespace_names),
        "role": own.role.value,
        **({"lane": lane} if (lane := config.flux.lane_of(own.lane)) else {}),
        **({"grants": [_grant(each) for each in own.grants]} if own.grants else {}),
        **({"people": people} if (people := listed_people(own.people)) else {}),
        "furtherAccess": further.apply(lambda found: found.get(name, [])),
        **(_applied_source(name, own) if own.has_syncs else {}),
        **git,
        **({"sources": sources} if sources else {}),
        **(_sync(name, own, progress) if own.has_syncs else {}),
        **_applied("syncs", KUSTOMIZATION, name, own.syncs, progress),
        **_applied("releases", HELM_RELEASE, name, own.releases, progress),
        "look": _commands(name, own, config.cluster.context),
    }


def _applied_source(name: str, tenant: TenantConfig) -> dict[str, Any]:
    applied = source_reference(name, tenant, tenant.sync.source)
    return {"source": f"{applied.kind}/{applied.namespace}/{applied.name}"}


def _sync(name: str, tenant: TenantConfig, progress: pulumi.Output[dict[str, Progress]]) -> dict[str, Any]:
    path = tenant.sync.path
    return {"path": path, **_sops(path, tenant.sync.decryption), "status": _status(name, progress)}


def _grant(grant: Grant) -> dict[str, Any]:
    expires = {"expires": grant.expires.isoformat()} if grant.expires is not None else {}
    return {"allows": list(in_words(grant)), "reason": grant.reason, **expires}


def _applied(
    section: str, kind: str, tenant: str, configured: Iterable[str], progress: pulumi.Output[dict[str, Progress]]
) -> dict[str, Any]:
    """Status and revision of a tenant's further syncs or of its releases, by name; nothing without any."""

    def one(key: str) -> pulumi.Output[dict[str, str]]:
        revision = progress.apply(lambda found: found[key].revision)
        return pulumi.Output.all(_status(key, progress), revision).apply(
            lambda both: both[0] | ({"revision": both[1]} if both[1] else {})
        )

    found = {name: one(applied_key(tenant, kind, name)) for name in configured}
    return {section: found} if found else {}


def _platform(
    sync: PlatformSyncConfig,
    platform: PlatformSync,
    webhooks: str | None,
    progress: pulumi.Output[dict[str, Progress]],
    rotating: Rotations,
) -> dict[str, Any]:
    path = platform_path(sync, pulumi.get_stack())
    return {
        **_source(PLATFORM_META, sync.source, platform.registered, webhooks, rotating),
        "path": path,
        **_sops(path, sync.decryption),
        "status": _status(PLATFORM_META.name, progress),
    }


def _source(
    meta: ObjectMeta, source: GitSource, registered: Registered, webhooks: str | None, rotating: Rotations
) -> dict[str, Any]:
    """A source, and what its Git host has to know."""
    found: dict[str, Any] = {"url": source.url}
    if source.deploy_key is not None:
        key = read_private_key(source.deploy_key.get_secret_value())
        previous = {"previous": rotating[meta.prefix]} if meta.prefix in rotating else {}
        found["deployKey"] = {"fingerprint": key.fingerprint, "publicKey": key.public, **previous}
    if (url := webhook_url(meta, webhooks, registered)) is not None:
        found["webhook"] = url
    return found


def _further(
    meta: ObjectMeta,
    source: Source,
    registered: Registered,
    webhooks: str | None,
    rotating: Rotations,
    fetching: pulumi.Output[dict[str, str]],
) -> dict[str, Any]:
    """One of a tenant's further sources, and whether its current credentials have been used."""
    found: dict[str, Any] = {"object": f"{source.kind}/{meta.namespace}/{meta.name}"}
    if isinstance(source, GitSource):
        found |= _source(meta, source, registered, webhooks, rotating)
    elif not isinstance(source, ExternalArtifactSource):
        found["url"] = fetched_url(source)
    return found | ({"fetched": fetching.apply(lambda states: states[meta.prefix])} if has_status(source) else {})


def _sops(path: str, decryption: Decryption | None) -> dict[str, Any]:
    """What is needed to encrypt for this environment; all of it is public."""
    if decryption is None:
        return {}
    found: dict[str, Any] = {"config": sops_config([Environment(path, decryption.rule_keys)])}
    if decryption.age is not None:
        found["age"] = [identity.recipient for identity in decryption.age.parsed]
    if decryption.openpgp is not None:
        found["openpgp"] = {key.fingerprint: key.public for key in decryption.openpgp.parsed}
    return {"sops": found}


def _commands(name: str, tenant: TenantConfig, context: str | None) -> dict[str, str]:
    at = f" --context {context}" if context else ""
    own = [GIT_REPOSITORY] if tenant.source is not None else []
    kinds = dict.fromkeys(SOURCE_RESOURCES[kind] for kind in [*own, *(each.kind for each in tenant.sources.values())])
    kind, applied = ("kustomization", name) if tenant.has_syncs else ("helmrelease", next(iter(tenant.releases)))
    return {
        "flux": f"flux get all -n {tenant.home}{at}",
        "kubectl": f"kubectl get {','.join(kinds)},{kind}s,events -n {tenant.home}{at}",
        "reconcile": f"flux reconcile {kind} {applied} -n {tenant.home} --with-source{at}",
    }


def _status(name: str, progress: pulumi.Output[dict[str, Progress]]) -> pulumi.Output[dict[str, str]]:
    def shown(found: dict[str, Progress]) -> dict[str, str]:
        status = found[name].overall
        output = {"ready": status.ready, "message": status.message}
        # Outputs of a healthy stack never change.
        if status.ready == "False" and status.as_of is not None:
            output["asOf"] = status.as_of.isoformat(timespec="seconds")
        return output

    return progress.apply(shown)


FETCHED = "yes"
"""What is said of a source that has been fetched."""


def fetched(
    sources: Mapping[str, Manifest], progress: pulumi.Output[dict[str, Progress]], find: Find
) -> pulumi.Output[dict[str, str]]:
    """By name, `yes` for each further source that has been fetched as it is now, or why it is not proven.

    Until it is, the previous credentials must stay valid. Deploy keys are removed by the same proof
    (`components.git.rotation`); logins at registries and object stores are revoked by their owners.

    In a preview the value is unknown: it depends on what the update finds, and a saved plan would fix it.

    Args:
        sources: the sources' objects by name.
    """

    async def look(_: Any) -> dict[str, str]:
        return {name: await asyncio.to_thread(_state, manifest, find) for name, manifest in sources.items()}

    if not sources:
        return pulumi.Output.from_input({})
    if pulumi.runtime.is_dry_run():
        return pulumi.Output.from_input(cast(dict[str, str], UNKNOWN))
    return progress.apply(look)


def _state(manifest: Manifest, find: Find) -> str:
    try:
        return not_fetched(find(manifest)) or FETCHED
    except ClusterUnavailable as error:
        return str(error)
