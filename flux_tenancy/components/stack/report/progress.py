"""After the last resource: waiting for the syncs, and warnings about those that are not ready, about what tenants and
Flux's controllers may do in addition, and about what is left of leaving tenants.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from shlex import quote
from typing import Any

import pulumi

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.engine import log
from flux_tenancy.components.engine.pulumi_command import creates_nothing
from flux_tenancy.components.plan import Stage, of_stage
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.platform import Platform
from flux_tenancy.components.sync.progress import Changes, ReconcileRequests, wait_until_settled
from flux_tenancy.components.sync.status import FluxObjects, Progress, SyncStatus, fetch_remedy, lasted
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.further_access import FurtherBinding, TenantAccess
from flux_tenancy.components.tenant.leaving.remaining_objects import Remains
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import owner_of, sync_label

NOT_READY = Wording("FT-TEN-101", "{sync} is not ready: {status}", "{remedy}")
NOT_STARTING = Wording("FT-TEN-107", "tenant {tenant}: {problem}", "{remedy}")
_MOST_FAILURES = 5
LEFT_OUT = SyncStatus("Unknown", "not created yet; the update left it out")


def settled(
    timeout: float,
    platform: Platform,
    objects: FluxObjects,
    changes: Changes,
    namespaces: Mapping[str, Sequence[str]],
) -> pulumi.Output[dict[str, Progress]]:
    """The progress of each sync, by its key (`Plan.syncs`), with what this update has changed taken into account.

    The cluster is read once the last sync is registered. A preview reads once; it neither waits nor asks Flux to
    reconcile.

    Args:
        timeout: how long an update waits, in seconds.
    """
    updating = not (pulumi.runtime.is_dry_run() or creates_nothing())
    timeout = timeout if updating else 0.0
    syncs = platform.plan.syncs

    async def settle(created: dict[str, bool]) -> dict[str, Progress]:
        there = {key: sync for key, sync in syncs.items() if created[key]}
        began = objects.now()
        unasked: set[str] = set()

        def request(found: Mapping[str, Any]) -> bool:
            try:
                objects.request(found, objects.now())
            except ClusterUnavailable as error:
                unasked.add(str(error))
                return False
            return True

        requests = ReconcileRequests(request, {key for key in there if changes.concern(owner_of(key))}, changes.renewed)
        try:
            progress = await asyncio.to_thread(wait_until_settled, objects.read, there, timeout, requests)
            warnings = []
            if not pulumi.runtime.is_dry_run():
                warnings = _warnings(progress, began, objects.now())
                warnings += await asyncio.to_thread(_start_failures, progress, objects, namespaces)
        except ClusterUnavailable as error:
            # Everything is applied by now, so a cluster that cannot be read does not fail the update.
            unknown = SyncStatus("Unknown", str(error))
            progress = dict.fromkeys(there, Progress(unknown, unknown))
            warnings = _warnings(progress, began, objects.now())
        if not pulumi.runtime.is_dry_run():
            for warning in (
                *(
                    CANNOT(do="ask Flux to reconcile", reason=reason, remedy="Flux does at its next interval")
                    for reason in unasked
                ),
                *warnings,
            ):
                log.warn(warning)
        return dict.fromkeys(syncs, Progress(LEFT_OUT, LEFT_OUT)) | progress

    # With `--target` or `--exclude`, new resources that are left out get no ID.
    known = not pulumi.runtime.is_dry_run()
    created = {
        key: applied.id.apply(lambda found: isinstance(found, str), run_with_unknowns=known)
        for key, applied in platform.applied.items()
    }
    return pulumi.Output.all(**created).apply(settle)


def _warnings(progress: Mapping[str, Progress], began: datetime, now: datetime) -> list[Message]:
    """A warning for each sync that is not ready; of a status that is older than this update, with its age."""
    return [
        NOT_READY(
            sync=sync_label(name),
            status=f"{found.overall.message}{_age(found.overall, began, now)}",
            remedy=fetch_remedy(found.fetched.message) or fetch_remedy(found.overall.message),
        )
        for name, found in progress.items()
        if found.overall.ready != "True"
    ]


def _start_failures(
    progress: Mapping[str, Progress], objects: FluxObjects, namespaces: Mapping[str, Sequence[str]]
) -> list[Message]:
    """Why Pods of the tenants do not start whose syncs have fetched their sources and are not ready.

    Raises:
        ClusterUnavailable: the cluster does not answer.
    """
    waiting = {
        owner_of(key): None
        for key, found in progress.items()
        if found.fetched.ready == "True" and found.applied.ready != "True"
    }
    return [
        NOT_STARTING(tenant=tenant, problem=failure.problem, remedy=failure.remedy)
        for tenant in waiting
        for failure in islice(objects.start_failures(namespaces.get(tenant, ())), _MOST_FAILURES)
    ]


def _age(status: SyncStatus, began: datetime, now: datetime) -> str:
    if status.as_of is None or status.as_of >= began:
        return ""
    age = lasted(now - status.as_of)
    return f" (for {age})" if status.ready == "Unknown" else f" (as of {age} ago)"


CANNOT = Wording("FT-TEN-104", "cannot {do}: {reason}", "{remedy}")
FurtherAccess = dict[str, list[str]]
"""By tenant, a summary of each further binding."""


def report_further_access(
    config: StackConfig,
    platform: Platform,
    progress: pulumi.Output[dict[str, Progress]],
    read_further_access: Callable[[Mapping[str, TenantAccess]], Mapping[str, Sequence[FurtherBinding]]],
    read_further_controller_access: Callable[[Sequence[Manifest]], Sequence[FurtherBinding]],
) -> pulumi.Output[FurtherAccess]:
    """What tenants may do in addition to their role, with a warning for each binding that lets them or a controller.

    A preview reads it at once; an update after the syncs have settled, since they may apply bindings, too.
    """
    tenants = {
        name: TenantAccess(
            tenant.namespace_names,
            [
                each.manifest
                for each in of_stage(platform.plan.tenants[name], Stage.ACCESS)
                if "roleRef" in each.manifest and not each.beside
            ],
        )
        for name, tenant in config.active_tenants.items()
    }

    async def look(_: Any) -> FurtherAccess:
        try:
            found = await asyncio.to_thread(read_further_access, tenants) if tenants else {}
            of_controllers = await asyncio.to_thread(read_further_controller_access, platform.flux.rights)
        except ClusterUnavailable as error:
            # The right to read bindings is needed for nothing else, so a lack of it does not fail the update.
            unknown = CANNOT(
                do="read the rights of tenants and controllers beyond the stack's",
                reason=error,
                remedy="let the update list roles and role bindings",
            )
            log.warn(unknown)
            return dict.fromkeys(tenants, [str(unknown)])
        owners: dict[str, list[str]] = defaultdict(list)
        for name, further in found.items():
            for binding in further:
                owners[binding.summary].append(name)
        for summary, names in owners.items():
            log.warn(
                Message(
                    "FT-TEN-103",
                    f"tenant {', '.join(names)} has rights beyond its role: {summary}",
                    "delete the binding unless you want it, and replace it by `grants` (docs/grants.md)",
                )
            )
        for binding in of_controllers:
            log.warn(
                Message(
                    "FT-FLX-020",
                    f"Flux's controllers have rights beyond the stack's: {binding.summary}",
                    "after `pulumi up`, remove it from its repository, if any, which would restore it, and delete it "
                    f"with `kubectl delete clusterrolebinding {quote(binding.name)}` (docs/adoption.md)",
                )
            )
        return {name: [binding.summary for binding in further] for name, further in found.items()}

    return (pulumi.Output.from_input({}) if pulumi.runtime.is_dry_run() else progress).apply(look)


LeavingTenants = dict[str, dict[str, str]]
"""By tenant and namespace, what is left in it, e.g. `1 PersistentVolumeClaim, 2 Secret`."""


def report_leaving(
    config: StackConfig, read_remains: Callable[[Mapping[str, TenantConfig]], Mapping[str, Mapping[str, Remains]]]
) -> pulumi.Output[LeavingTenants]:
    """What is left of the tenants that are leaving, with a warning that says what comes next.

    Args:
        read_remains: reads what is left of tenants, by namespace.
    """
    leaving = {name: tenant for name, tenant in config.tenants.items() if tenant.is_leaving}

    async def look() -> LeavingTenants:
        try:
            found = await asyncio.to_thread(read_remains, leaving)
        except ClusterUnavailable as error:
            # Nothing depends on it, so it does not fail the update.
            unknown = CANNOT(
                do="read the remaining objects of leaving tenants",
                reason=error,
                remedy="the next update reads them again",
            )
            log.warn(unknown)
            return {name: dict.fromkeys(tenant.namespace_names, str(unknown)) for name, tenant in leaving.items()}
        for name, namespaces in found.items():
            for namespace, remains in namespaces.items():
                log.warn(
                    Message(
                        "FT-TEN-105",
                        f"tenant {name} is leaving: its sync and its access are removed; remaining in namespace "
                        f"{namespace}: {remains}",
                        f"to delete the namespace with everything in it, remove tenants.{name} from the stack; to "
                        "take the tenant back, remove its `state` (docs/tenants.md)",
                    )
                )
        return {name: {each: str(left) for each, left in namespaces.items()} for name, namespaces in found.items()}

    return pulumi.Output.from_input(look() if leaving else {})
