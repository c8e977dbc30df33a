"""How a tenant's sync is doing, told from what Flux wrote, without waiting longer than was asked for."""

import pytest

from components.sync_status import NOT_RECONCILED, SUSPENDED, SyncStatus, status_of, statuses_of, wait_until_settled

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


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def wait(looks, tenants, timeout, clock):
    """Waits while each look at the cluster finds the next of `looks`, and at last always the same."""
    remaining = list(looks)
    return wait_until_settled(
        lambda: remaining.pop(0) if len(remaining) > 1 else remaining[0], tenants, timeout, clock, clock.sleep
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


@pytest.mark.parametrize(
    ("found", "of_source", "status"),
    [
        # The sync only knows that there is nothing to apply; its source knows why.
        (sync("False", "no artifact"), ("False", "repository not found"), SyncStatus("False", "repository not found")),
        (
            sync("Unknown", "in progress"),
            ("False", "repository not found"),
            SyncStatus("False", "repository not found"),
        ),
        (sync(), ("False", "repository not found"), SyncStatus("False", "repository not found")),
        # What was applied stays applied while the source cannot be reached for a moment.
        (sync("True"), ("False", "timeout"), SyncStatus("True", "")),
        (sync("False", "path not found"), ("True", "stored artifact"), SyncStatus("False", "path not found")),
        (sync("False", "path not found"), ("Unknown", "fetching"), SyncStatus("False", "path not found")),
    ],
)
def test_the_reason_is_taken_from_where_it_stands(found, of_source, status):
    source = sync(*of_source, kind="GitRepository")

    assert statuses_of([source, found]) == statuses_of([found, source]) == {DEV: status}


def test_a_source_of_another_name_says_nothing_of_the_sync():
    other = sync("False", "repository not found", where=("apps", "another"), kind="GitRepository")

    assert statuses_of([other, sync("False", "path not found")]) == {DEV: SyncStatus("False", "path not found")}


def test_a_tenant_that_failed_is_reported_beside_one_that_is_well():
    clock = Clock()
    found = [sync("False", "path not found"), sync("True", "Applied revision", where=OPS)]

    assert wait([found], [DEV, OPS], 60, clock) == {
        DEV: SyncStatus("False", "path not found"),
        OPS: SyncStatus("True", ""),
    }
    assert clock.now == 100.0


def test_waiting_ends_with_the_last_result():
    clock = Clock()

    statuses = wait([[], [sync("Unknown", "in progress")], [sync("True")]], [DEV], 60, clock)

    assert statuses == {DEV: SyncStatus("True", "")}
    assert clock.now == 102.0


def test_the_last_tenant_is_waited_for():
    clock = Clock()
    first = sync("True")

    statuses = wait([[first], [first, sync("False", "path not found", where=OPS)]], [DEV, OPS], 60, clock)

    assert statuses == {DEV: SyncStatus("True", ""), OPS: SyncStatus("False", "path not found")}
    assert clock.now == 101.0


def test_waiting_never_takes_longer_than_was_asked_for():
    clock = Clock()

    statuses = wait([[sync("Unknown", "in progress")]], [DEV, OPS], 5, clock)

    assert statuses == {DEV: SyncStatus("Unknown", "in progress"), OPS: NOT_RECONCILED}
    assert clock.now == 105.0


def test_without_time_to_wait_there_is_one_look():
    clock = Clock()

    assert wait([[], [sync("True")]], [DEV], 0, clock) == {DEV: NOT_RECONCILED}
    assert clock.now == 100.0


def test_syncs_of_others_are_not_waited_for():
    assert wait([[sync("Unknown", where=OPS)]], [], 60, Clock()) == {}


def test_a_sync_of_the_same_name_in_another_namespace_is_not_the_tenants():
    assert wait([[sync("True", where=("elsewhere", "dev-team"))]], [DEV], 0, Clock()) == {DEV: NOT_RECONCILED}
