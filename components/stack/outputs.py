"""Stack outputs: what an operator or a tenant asks next."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pulumi

from components.cluster.client import ClusterFacts, ClusterUnavailable
from components.config.types import seconds
from components.engine.pulumi_command import creates_nothing
from components.engine.update_plans import unplanned
from components.flux.component import FluxInstall
from components.flux.config import PlatformSyncConfig
from components.flux.platform_sync import PlatformSync
from components.git.config import GitSource
from components.git.rotation import Rotations
from components.git.source import RegisteredSource
from components.keys.ssh_keys import read_private_key
from components.kyverno.component import KyvernoInstall
from components.stack.config import StackConfig
from components.sync.changes import Changes
from components.sync.decryption import Decryption
from components.sync.flux_objects import ClusterClock, FluxObjects, lasted
from components.sync.names import PLATFORM
from components.sync.sops_config import Environment, sops_config
from components.sync.status import Asking, Progress, SyncStatus, wait_until_settled
from components.tenant.component import Tenant
from components.tenant.config import TenantConfig
from components.tenant.further_access import FurtherBinding, TenantAccess
from components.tenant.objects import tenant_objects

LEFT_OUT = SyncStatus("Unknown", "not created yet; the update left it out")
FurtherAccess = dict[str, list[str]]
"""By tenant, each further binding in a sentence."""


def stack_outputs(
    config: StackConfig,
    cluster: ClusterFacts,
    flux: FluxInstall,
    kyverno: KyvernoInstall | None,
    platform: PlatformSync | None,
    tenants: Mapping[str, Tenant],
    progress: pulumi.Output[dict[str, Progress]],
    further: pulumi.Output[FurtherAccess],
    rotating: Rotations,
) -> dict[str, Any]:
    """All outputs of the stack.

    Args:
        config: the stack.
        cluster: who the cluster is.
        flux: the installed release.
        kyverno: the installed release, or None.
        platform: the platform's own sync, or None.
        tenants: the tenants by name.
        progress: how far each sync has come (`settled`).
        further: what tenants may do beside their role (`beside_role`).
        rotating: the previous deploy keys that stay (`rotations`).
    """
    sync = config.flux.sync
    progress, further = unplanned(progress), unplanned(further)
    own = {"sync": _platform(sync, platform, progress, rotating)} if sync is not None and platform is not None else {}
    return {
        "cluster": {"uid": cluster.uid, "version": cluster.version, "context": config.cluster.context},
        "flux": {"version": flux.version, "profile": flux.profile} | own,
        **({"kyverno": {"version": kyverno.version}} if kyverno is not None else {}),
        "tenants": {name: _tenant(name, config, tenants[name], progress, further, rotating) for name in config.tenants},
    }


def settled(
    config: StackConfig,
    platform: PlatformSync | None,
    tenants: Mapping[str, Tenant],
    objects: FluxObjects,
    changes: Changes,
) -> pulumi.Output[dict[str, Progress]]:
    """How far each sync has come, by the name of its objects, as of what this update has changed.

    The cluster is asked when the last sync is registered; a preview looks once, and neither waits nor has Flux look.

    Args:
        config: the stack.
        platform: the platform's own sync, or None.
        tenants: the tenants by name.
        objects: Flux's objects in the cluster.
        changes: what this update has changed.
    """
    updating = not (pulumi.runtime.is_dry_run() or creates_nothing())
    timeout = seconds(config.tenancy.settle_timeout) if updating else 0.0
    homes = {name: (tenant.home, name) for name, tenant in config.tenants.items()}
    syncs = [tenant.sync for tenant in tenants.values()]
    if platform is not None:
        homes[PLATFORM.name] = (PLATFORM.namespace, PLATFORM.name)
        syncs.append(platform.sync)

    async def settle(created: list[bool]) -> dict[str, Progress]:
        there = {name: home for (name, home), made in zip(homes.items(), created, strict=True) if made}
        clock = ClusterClock(objects.now)
        unasked: set[str] = set()

        def request(found: Mapping[str, Any]) -> bool:
            try:
                objects.request(found, clock.now)
            except ClusterUnavailable as error:
                unasked.add(str(error))
                return False
            return True

        asking = Asking(request, {home for name, home in there.items() if changes.concern(name)}, changes.renewed)
        try:
            found = await asyncio.to_thread(wait_until_settled, objects.read, there.values(), timeout, asking)
            progress = {name: found[home] for name, home in there.items()}
            warnings = [] if pulumi.runtime.is_dry_run() else await asyncio.to_thread(_warnings, progress, clock)
        except ClusterUnavailable as error:
            # Everything is applied by now; that nobody can be asked how it goes is no reason to call it failed.
            unknown = SyncStatus("Unknown", str(error))
            progress = dict.fromkeys(there, Progress(unknown, unknown))
            warnings = _warnings(progress, clock)
        if not pulumi.runtime.is_dry_run():
            for warning in (*(f"Flux could not be asked to look again: {reason}" for reason in unasked), *warnings):
                pulumi.log.warn(warning)
        return dict.fromkeys(homes, Progress(LEFT_OUT, LEFT_OUT)) | progress

    # An update of some resources only (`--target`, `--exclude`) gives no ID to the others that are new.
    known = not pulumi.runtime.is_dry_run()
    created = [sync.id.apply(lambda found: isinstance(found, str), run_with_unknowns=known) for sync in syncs]
    return pulumi.Output.all(*created).apply(settle)


def beside_role(
    config: StackConfig,
    progress: pulumi.Output[dict[str, Progress]],
    read_further_access: Callable[[Mapping[str, TenantAccess]], Mapping[str, Sequence[FurtherBinding]]],
) -> pulumi.Output[FurtherAccess]:
    """What tenants may do beside their role, with a warning of each binding that lets them.

    A preview looks at once; an update when the syncs have settled, since what they apply may bind accounts, too.

    Args:
        config: the stack.
        progress: how far each sync has come.
        read_further_access: finds it, by what the platform gives to tenants.
    """
    tenants = {
        name: TenantAccess(tenant.namespace_names, tenant_objects(name, tenant, config.tenancy).access)
        for name, tenant in config.tenants.items()
    }

    async def look(_: Any) -> FurtherAccess:
        try:
            found = await asyncio.to_thread(read_further_access, tenants)
        except ClusterUnavailable as error:
            # Nothing else here needs the right to read bindings.
            unknown = f"what tenants may do beside their role is not known: {error}"
            pulumi.log.warn(unknown)
            return dict.fromkeys(tenants, [unknown])
        owners: dict[str, list[str]] = defaultdict(list)
        for name, further in found.items():
            for binding in further:
                owners[binding.summary].append(name)
        for summary, names in owners.items():
            pulumi.log.warn(f"tenant {', '.join(names)} has more than its role: {summary}")
        return {name: [binding.summary for binding in further] for name, further in found.items()}

    if not tenants:
        return pulumi.Output.from_input({})
    return (pulumi.Output.from_input({}) if pulumi.runtime.is_dry_run() else progress).apply(look)


def _tenant(
    name: str,
    config: StackConfig,
    tenant: Tenant,
    progress: pulumi.Output[dict[str, Progress]],
    further: pulumi.Output[FurtherAccess],
    rotating: Rotations,
) -> dict[str, Any]:
    own = config.tenants[name]
    return {
        "namespaces": list(own.namespace_names),
        "role": own.role.value,
        "furtherAccess": further.apply(lambda found: found.get(name, [])),
        "source": f"{own.source.kind}/{own.home}/{name}",
        **_source(name, own.source, tenant.source, rotating),
        "path": own.sync.path,
        **_sops(own.sync.path, own.sync.decryption),
        "status": _status(name, progress),
        "look": _commands(name, own, config.cluster.context),
    }


def _platform(
    sync: PlatformSyncConfig,
    platform: PlatformSync,
    progress: pulumi.Output[dict[str, Progress]],
    rotating: Rotations,
) -> dict[str, Any]:
    return {
        **_source(PLATFORM.name, sync.source, platform.source, rotating),
        "path": platform.path,
        **_sops(platform.path, sync.decryption),
        "status": _status(PLATFORM.name, progress),
    }


def _source(name: str, source: GitSource, registered: RegisteredSource, rotating: Rotations) -> dict[str, Any]:
    """A source, and what has to be known of it at the Git host."""
    found: dict[str, Any] = {"url": source.url}
    if source.deploy_key is not None:
        key = read_private_key(source.deploy_key.get_secret_value())
        previous = {"previous": rotating[name]} if name in rotating else {}
        found["deployKey"] = {"fingerprint": key.fingerprint, "publicKey": key.public, **previous}
    if registered.webhook is not None:
        found["webhook"] = registered.webhook
    return found


def _sops(path: str, decryption: Decryption | None) -> dict[str, Any]:
    """What somebody needs to encrypt for this environment; all of it is public."""
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
    return {
        "flux": f"flux get all -n {tenant.home}{at}",
        "kubectl": f"kubectl get gitrepositories,kustomizations,events -n {tenant.home}{at}",
        "reconcile": f"flux reconcile kustomization {name} -n {tenant.home} --with-source{at}",
    }


def _status(name: str, progress: pulumi.Output[dict[str, Progress]]) -> pulumi.Output[dict[str, str]]:
    def shown(found: dict[str, Progress]) -> dict[str, str]:
        status = found[name].overall
        told = {"ready": status.ready, "message": status.message}
        # While all is well nothing changes in the outputs.
        if status.ready == "False" and status.as_of is not None:
            told["asOf"] = status.as_of.isoformat(timespec="seconds")
        return told

    return progress.apply(shown)


def _warnings(progress: Mapping[str, Progress], clock: ClusterClock) -> list[str]:
    """What is to be said of each sync that is not ready.

    Raises:
        ClusterUnavailable: how old it is has to be asked, and the cluster does not answer.
    """
    whose = {name: "the platform's own sync" if name == PLATFORM.name else f"tenant {name}" for name in progress}
    return [
        f"{whose[name]} is not ready: {found.overall.message}{_age(found.overall, clock)}"
        for name, found in progress.items()
        if found.overall.ready != "True"
    ]


def _age(status: SyncStatus, clock: ClusterClock) -> str:
    """How old a status is that Flux has not renewed since this update looked."""
    if status.as_of is None or status.as_of >= clock.started:
        return ""
    age = lasted(clock.now - status.as_of)
    return f" (for {age})" if status.ready == "Unknown" else f" (as of {age} ago)"
