"""Waiting for the syncs at the end of an update, and warnings about those that are not ready."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import pulumi

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.engine import log
from flux_tenancy.components.engine.pulumi_command import creates_nothing
from flux_tenancy.components.stack.platform import Platform
from flux_tenancy.components.stack.report.further_access import CANNOT
from flux_tenancy.components.sync.changes import Changes
from flux_tenancy.components.sync.flux_objects import ClusterClock, FluxObjects, lasted
from flux_tenancy.components.sync.status import (
    Progress,
    ReconcileRequests,
    SyncStatus,
    fetch_remedy,
    wait_until_settled,
)
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
        clock = ClusterClock(objects.now)
        unasked: set[str] = set()

        def request(found: Mapping[str, Any]) -> bool:
            try:
                objects.request(found, clock.now)
            except ClusterUnavailable as error:
                unasked.add(str(error))
                return False
            return True

        requests = ReconcileRequests(request, {key for key in there if changes.concern(owner_of(key))}, changes.renewed)
        try:
            progress = await asyncio.to_thread(wait_until_settled, objects.read, there, timeout, requests)
            warnings = []
            if not pulumi.runtime.is_dry_run():
                warnings = await asyncio.to_thread(_warnings, progress, clock)
                warnings += await asyncio.to_thread(_start_failures, progress, objects, namespaces)
        except ClusterUnavailable as error:
            # Everything is applied by now, so a cluster that cannot be read does not fail the update.
            unknown = SyncStatus("Unknown", str(error))
            progress = dict.fromkeys(there, Progress(unknown, unknown))
            warnings = _warnings(progress, clock)
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


def _warnings(progress: Mapping[str, Progress], clock: ClusterClock) -> list[Message]:
    """A warning for each sync that is not ready.

    Raises:
        ClusterUnavailable: the age of a status depends on the cluster's time, and the cluster does not answer.
    """
    return [
        NOT_READY(
            sync=sync_label(name),
            status=f"{found.overall.message}{_age(found.overall, clock)}",
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


def _age(status: SyncStatus, clock: ClusterClock) -> str:
    """The age of a status that Flux has not renewed during this update."""
    if status.as_of is None or status.as_of >= clock.started:
        return ""
    age = lasted(clock.now - status.as_of)
    return f" (for {age})" if status.ready == "Unknown" else f" (as of {age} ago)"
