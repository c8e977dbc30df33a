"""Restores what differs from the stack.

An update compares the stack with the state, not with the cluster, and a refresh in between would make what somebody
else has written the state. So each object that has changed is applied again as the last update has applied it: as a
whole, by Pulumi's field manager. Server-side apply leaves what it was not given, so the object is compared once more,
and replaced by one without what still differs. No field that the stack sets is ever removed.

The state is refreshed of an object that is missing, so that the next update creates it in its order and with its hooks,
and of one that is restored while the state still has the copy of an earlier refresh. Then the cluster is compared
again. What is not of the stack stays.

A repair before an update that is held to an approval is refused here already, before anything is changed.
"""

from __future__ import annotations

import copy
import os
import time
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import typer
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from kubernetes.utils import DEFAULT_BACKOFF, retry_on_conflict

from flux_tenancy.components.cluster.client import APPLY_PATCH, ClusterUnavailable, ask, explaining, get, path_of
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.recovery.cluster import relinquish
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.operations.drift.differences import (
    MANAGERS,
    SECRET_VALUE,
    Change,
    Difference,
    What,
    changes,
    former_managers,
    is_ahead,
    is_refreshed,
)
from flux_tenancy.operations.drift.lists import SECRET
from flux_tenancy.operations.drift.managed_fields import MISSING, denormalized, put, remove, value_at
from flux_tenancy.operations.drift.recorded_state import (
    Recorded,
    RecordedState,
    is_sealed,
    opened,
    read_previewed,
    read_recorded,
)
from flux_tenancy.operations.drift.search import Drift, find_drift
from flux_tenancy.operations.drift.text import as_text
from flux_tenancy.operations.stack.pulumi_cli import refuse_if_locked, run_pulumi
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.approval.guard import VARIABLE, compare_with_approved

DELETION_SECONDS = 120
"""How long a repair waits for objects that are being deleted."""

_POLL_SECONDS = 5
_INVALID = 422
_RESTORED = (What.CHANGED, What.ADDED)


@dataclass(frozen=True)
class Earlier:
    """What a repair has found of earlier updates.

    Attributes:
        cluster: identity of the cluster that the stack was applied to; empty before the first update.
        interrupted: whether an update has applied something that is not in the state, because it was killed.
    """

    cluster: str
    interrupted: bool


def repair(stack: str, project: Path, *, update_follows: bool = False) -> Earlier:
    """Restore what has changed, remove what was added, and prepare that the next update creates what is missing.

    Changes nothing if the stack has not been applied yet, or if the cluster is as the last update has left it. Fails if
    something still differs. Refuses, as the update will, if FLUX_TENANCY_APPROVED is set and something else was
    approved.

    Args:
        update_follows: whether to leave to an update what a killed one has written: restored before, a path of a sync
            would change twice, and Flux prune what it applies.

    Raises:
        OperationError: the state or the cluster cannot be read, another update is in progress, or something still
            differs.
    """
    if (approved := os.environ.get(VARIABLE)) is not None:
        _refuse_unapproved(stack, approved, project)
    try:
        recorded = read_recorded(stack, project)
    except OperationError as error:
        if error.message.code != "FT-OPS-011":
            raise
        recorded = None
    if recorded is None or not recorded.objects:
        typer.echo(f"Stack {stack} has not been applied yet: there is nothing to repair.", err=True)
        cluster = recorded.cluster if recorded else ""
        return Earlier(cluster, bool(cluster))
    found, api = find_drift(recorded, stack, project)
    typer.echo(as_text(found, stack), err=True)
    ahead = _ahead(found, recorded)
    earlier = Earlier(recorded.cluster, bool(ahead) or any(each.what is What.LEFT for each in found.differences))
    deferred = ahead if update_follows else frozenset()
    objects = {each.urn for each in recorded.objects}
    different = {each.urn for each in found.differences if each.what in _RESTORED and each.urn}
    changed = (different & objects) - deferred
    # An update registers again what differs at GitHub, as soon as the state has what is there.
    gone = {each.urn for each in found.differences if each.what is What.MISSING and each.urn} | (different - objects)
    if not gone | changed:
        return earlier
    if changed:
        # The refresh below would notice a lock too late.
        refuse_if_locked(stack, project)
    reasons, outdated = _restore_all(api, recorded, changed, stack, project)
    left = _refreshed(gone | outdated, deferred, stack, project)
    if _is_going(left):
        raise OperationError(
            Message(
                "FT-OPS-345",
                f"objects of stack {stack} are still being deleted after {DELETION_SECONDS} s: "
                f"{', '.join(each.label for each in left)}",
                f"run the command again once they are gone; `pulumi up --stack {stack}` names the finalizers that "
                "block a namespace",
            )
        )
    if left:
        raise OperationError(
            Message(
                "FT-OPS-052",
                f"after the repair, the cluster still differs from stack {stack}: {'; '.join(_left(left, reasons))}",
                f"`flux-tenancy drift show --stack {stack}` names who writes to them: stop that or declare the change "
                f"in the stack, then run `flux-tenancy drift repair --stack {stack}` again",
            )
        )
    restored = f"{len(changed)} object{'s' * (len(changed) != 1)} restored"
    created = f"; the next `pulumi up` creates what is missing ({len(gone)})" if gone else ""
    typer.echo(f"{restored}{created}.", err=True)
    return earlier


def _refreshed(urns: Set[str], deferred: Container[str], stack: str, project: Path) -> list[Difference]:
    """Refresh the state of some resources, and return what still differs of the stack's, but for what is deferred.

    What is missing may still be being deleted, as after a killed offboarding; a refresh finds it there, and the update
    would apply to what then goes. So the refresh is repeated until it is gone.
    """
    deadline = None
    while True:
        if targets := [part for urn in sorted(urns) for part in ("--target", urn)]:
            run_pulumi(["refresh", "--yes", "--skip-preview", *targets], stack, project)
        found, _ = find_drift(read_recorded(stack, project), stack, project)
        left = [each for each in found.differences if each.urn and each.urn not in deferred]
        if not _is_going(left):
            return left
        if deadline is None:
            typer.echo(f"Waiting until objects are deleted: {', '.join(each.label for each in left)}", err=True)
            deadline = time.monotonic() + DELETION_SECONDS
        elif time.monotonic() > deadline:
            return left
        urns = {each.urn for each in left}
        time.sleep(_POLL_SECONDS)


def _is_going(left: Sequence[Difference]) -> bool:
    """Whether all that is left are objects that are being deleted."""
    return bool(left) and all(each.what is What.MISSING for each in left)


def _ahead(found: Drift, recorded: RecordedState) -> frozenset[str]:
    """The resources that a killed update has written."""
    managers = {each.urn: each.manager for each in recorded.objects}
    return frozenset(each.urn for each in found.differences if each.urn and each.by == managers.get(each.urn))


def _refuse_unapproved(stack: str, approved: str, project: Path) -> None:
    done = compare_with_approved(stack, approved, project)
    typer.echo(done.stderr or done.stdout, err=True, nl=False)
    if done.returncode:
        raise typer.Exit(2)


def _restore_all(
    api: client.ApiClient, recorded: RecordedState, urns: Container[str], stack: str, project: Path
) -> tuple[dict[str, str], set[str]]:
    """Restore objects; returns why some could not be restored, and the restored ones whose state is out of date."""
    objects = [each for each in recorded.objects if each.urn in urns]
    intended = _intended(objects, stack, project)
    reasons: dict[str, str] = {}
    outdated = set()
    for each in objects:
        if each.urn not in intended:
            reasons[each.urn] = "only an update knows how it should be"
            continue
        try:
            restored = _restore(api, each, intended[each.urn])
            if is_refreshed(each) or (each.type == SECRET and is_ahead(each, restored)):
                outdated.add(each.urn)
        except ClusterUnavailable as error:
            reasons[each.urn] = str(error)
    return reasons, outdated


def _intended(objects: Sequence[Recorded], stack: str, project: Path) -> dict[str, Manifest]:
    """How objects should be: as in the state; after a refresh of what others have written, as in a preview."""
    intended = {each.urn: each.inputs for each in objects}
    if any(is_sealed(each) for each in intended.values()):
        shown = read_recorded(stack, project, "--show-secrets")
        intended |= {each.urn: opened(each.inputs) for each in shown.objects if each.urn in intended}
    if refreshed := [each.urn for each in objects if is_refreshed(each)]:
        previewed = read_previewed(stack, project)
        for urn in refreshed:
            del intended[urn]
        intended |= {urn: previewed[urn] for urn in refreshed if urn in previewed}
    return intended


def _restore(api: client.ApiClient, recorded: Recorded, intended: Manifest) -> Manifest:
    """Apply an object as it should be, replace what server-side apply leaves, and end Pulumi's former managers.

    An immutable object that somebody has put in its place is deleted first. Returns the object as it then is.

    Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
    """
    path, manager = path_of(recorded.manifest), recorded.manager

    def apply() -> None:
        body = denormalized(intended)
        ask(api, "PATCH", path, body, content_type=APPLY_PATCH, fieldManager=manager, force="true")

    def replace() -> bool:
        found = get(api, path)
        corrected = as_intended(found, changes(recorded, found, intended), intended)
        if corrected != found:
            ask(api, "PUT", path, corrected, fieldManager=manager)
        return corrected != found

    with explaining(api):
        try:
            apply()
        except ApiException as error:
            # Together with what somebody has added, the object may be invalid, e.g. privileged without escalation.
            if error.status != _INVALID:
                raise
            found = get(api, path)
            if found.get("immutable"):
                same = {key: found["metadata"][key] for key in ("uid", "resourceVersion")}
                ask(api, "DELETE", path, {"preconditions": same})
            elif not retry_on_conflict(replace, DEFAULT_BACKOFF):
                raise
            apply()
        # Controllers write to it meanwhile.
        retry_on_conflict(replace, DEFAULT_BACKOFF)
        restored = get(api, path)
        for former in former_managers(recorded, restored):
            relinquish(api, recorded.manifest, former)
    return restored


def as_intended(found: Manifest, changed: Iterable[Change], intended: Manifest) -> Manifest:
    """The object whose changed fields have their values back.

    Args:
        found: the object right after it was applied.
        intended: the object as the stack applies it; none of its fields is removed.
    """
    whole = copy.deepcopy(found)
    for each in changed:
        if each.path == MANAGERS or each.before is SECRET_VALUE:
            continue
        if each.before is not MISSING:
            put(whole, each.path, denormalized(each.before))
        elif value_at(whole, each.path) is not MISSING and value_at(intended, each.path) is MISSING:
            remove(whole, each.path)
    return whole


def _left(differences: Iterable[Difference], reasons: Mapping[str, str]) -> Iterator[str]:
    """Each object that still differs, with its fields."""
    fields: dict[str, list[str]] = defaultdict(list)
    for each in differences:
        reason = f" ({reasons[each.urn]})" if each.urn in reasons else ""
        fields[f"{each.label}{reason}"].append(printable(each.field) or "missing")
    yield from (f"{name}: {', '.join(listed)}" for name, listed in fields.items())
