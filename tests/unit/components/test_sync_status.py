"""How a sync is doing, told from what Flux wrote, without waiting longer than was asked for."""

import pytest
from sample_text import ESCAPES, SHOWN

from components.sync_status import (
    NOT_RECONCILED,
    SUSPENDED,
    Progress,
    SyncStatus,
    progress_of,
    status_of,
    wait_until_settled,
)

DEV, OPS = ("apps", "dev-team"), ("tools", "ops-team")


def sync(ready=None, message="", generation=2, observed=2, where=DEV, kind="Kustomization"):
    """A Kustomization, or its source, with a Ready condition, or with none."""
    conditions = [{"type": "Reconciling", "status": "True"}]
    if ready is not None:
        condition = {"type": "Ready", "status": ready, "message": message}
        conditions.append(condition if observed is None else condition | {"observedGeneration": observed})
    namespace, name = where
    return {
        "kind": kind,
        "metadata": {"namespace": namespace, "name": name, "generation": generation},
        "status": {"conditions": conditions},
    }


def well(where):
    """A source that is fetched and a sync that is applied."""
    return [sync("True", "stored artifact", where=where, kind="GitRepository"), sync("True", "Applied", where=where)]


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def wait(looks, syncs, timeout, clock):
    """Waits while each look at the cluster finds the next of `looks`, and at last always the same."""
    remaining = list(looks)
    return wait_until_settled(
        lambda: remaining.pop(0) if len(remaining) > 1 else remaining[0],
        syncs,
        timeout,
        clock=clock,
        sleep=clock.sleep,
    )


@pytest.mark.parametrize(
    ("found", "status", "settled"),
    [
        (sync("True", "Applied revision: main@sha1:ab"), SyncStatus("True", ""), True),
        (sync("False", "path not found"), SyncStatus("False", "path not found"), True),
        (sync("Unknown", "in progress"), SyncStatus("Unknown", "in progress"), False),
        (sync(), NOT_RECONCILED, False),
        ({"metadata": {"generation": 1}}, NOT_RECONCILED, False),
        (sync("True", generation=3, observed=2), NOT_RECONCILED, False),
        (sync("False", "of yesterday", generation=3, observed=2), NOT_RECONCILED, False),
        (sync("True", observed=None), SyncStatus("True", ""), True),
        # One that was suspended before its first result would be waited for at every update.
        ({"metadata": {"generation": 1}, "spec": {"suspend": True}}, SUSPENDED, True),
    ],
)
def test_a_sync_is_settled_once_flux_has_a_result_for_what_is_wanted_now(found, status, settled):
    assert status_of(found) == status
    assert status_of(found).settled is settled


def test_a_wait_for_health_that_something_newer_has_ended_is_no_failure():
    found = sync("False", "New reconciliation triggered by GitRepository/apps/dev-team")
    found["status"]["conditions"][-1]["reason"] = "HealthCheckCanceled"

    status = status_of(found)

    assert status == SyncStatus("Unknown", "New reconciliation triggered by GitRepository/apps/dev-team")
    assert not status.settled


FETCHED = sync("True", "stored artifact", kind="GitRepository")
WELL = Progress(SyncStatus("True", ""), SyncStatus("True", ""))


def test_source_and_sync_of_the_same_place_and_name_are_told_together():
    source = sync("False", "repository not found", kind="GitRepository")
    applied = sync("True", "Applied revision")

    expected = {DEV: Progress(fetched=SyncStatus("False", "repository not found"), applied=SyncStatus("True", ""))}

    assert progress_of([source, applied]) == progress_of([applied, source]) == expected


def test_a_source_without_a_sync_and_a_sync_without_a_source_are_told_as_far_as_they_go():
    assert progress_of([FETCHED, sync("False", "path not found", where=OPS)]) == {
        DEV: Progress(SyncStatus("True", ""), NOT_RECONCILED),
        OPS: Progress(NOT_RECONCILED, SyncStatus("False", "path not found")),
    }


@pytest.mark.parametrize(
    ("of_source", "of_sync", "status"),
    [
        (("True", ""), ("True", ""), SyncStatus("True", "")),
        # The sync only knows that there is nothing to apply; its source knows why.
        (("False", "repository not found"), ("False", "no artifact"), SyncStatus("False", "repository not found")),
        (("False", "repository not found"), ("Unknown", "waiting"), SyncStatus("False", "repository not found")),
        # What was applied before stays applied, but a source that fails brings nothing new.
        (("False", "no supported key"), ("True", ""), SyncStatus("False", "no supported key")),
        (("Unknown", "fetching"), ("True", ""), SyncStatus("Unknown", "fetching")),
        (("True", ""), ("False", "path not found"), SyncStatus("False", "path not found")),
        (("True", ""), ("Unknown", "in progress"), SyncStatus("Unknown", "in progress")),
    ],
)
def test_the_reason_is_taken_from_where_it_stands(of_source, of_sync, status):
    assert Progress(SyncStatus(*of_source), SyncStatus(*of_sync)).overall == status


def test_a_source_that_is_not_there_yet_is_waited_for_though_the_sync_has_failed_for_want_of_it():
    progress = progress_of([sync("False", "source not found")])[DEV]

    assert progress.overall == NOT_RECONCILED
    assert not progress.overall.settled


def test_a_tenant_that_failed_is_reported_beside_one_that_is_well():
    clock = Clock()
    failed = sync("False", "host key mismatch", kind="GitRepository")
    found = [failed, sync("False", "no artifact"), *(well(OPS))]

    assert wait([found], [DEV, OPS], 60, clock) == {
        DEV: Progress(SyncStatus("False", "host key mismatch"), SyncStatus("False", "no artifact")),
        OPS: WELL,
    }
    assert clock.now == 100.0


def test_waiting_ends_with_the_last_result():
    clock = Clock()

    statuses = wait([[], [FETCHED], [FETCHED, sync("Unknown", "in progress")], well(DEV)], [DEV], 60, clock)

    assert statuses == {DEV: WELL}
    assert clock.now == 103.0


def test_the_last_tenant_is_waited_for():
    clock = Clock()

    statuses = wait([well(DEV), [*well(DEV), *well(OPS)]], [DEV, OPS], 60, clock)

    assert statuses == {DEV: WELL, OPS: WELL}
    assert clock.now == 101.0


def test_waiting_never_takes_longer_than_was_asked_for():
    clock = Clock()

    statuses = wait([[FETCHED, sync("Unknown", "in progress")]], [DEV, OPS], 5, clock)

    assert statuses == {DEV: Progress(SyncStatus("True", ""), SyncStatus("Unknown", "in progress")), OPS: Progress()}
    assert clock.now == 105.0


def test_without_time_to_wait_there_is_one_look():
    clock = Clock()

    assert wait([[], well(DEV)], [DEV], 0, clock) == {DEV: Progress()}
    assert clock.now == 100.0


def test_syncs_of_others_are_not_waited_for():
    assert wait([[sync("Unknown", where=OPS)]], [], 60, Clock()) == {}


def test_a_sync_of_the_same_name_in_another_namespace_is_not_the_tenants():
    assert wait([well(("elsewhere", "dev-team"))], [DEV], 0, Clock()) == {DEV: Progress()}


def test_nothing_is_known_of_a_sync_that_was_not_looked_at():
    assert Progress() == Progress(NOT_RECONCILED, NOT_RECONCILED)


def test_a_message_is_shown_on_one_line_without_what_could_steer_a_terminal():
    assert status_of(sync("False", ESCAPES)) == SyncStatus("False", SHOWN)
