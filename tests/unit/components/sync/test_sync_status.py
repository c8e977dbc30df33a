"""How a sync is doing, told from what Flux wrote, without waiting longer than was asked for."""

from datetime import UTC, datetime

import pytest
from sample_text import ESCAPES, SHOWN

from components.sync.status import (
    NOT_RECONCILED,
    REQUESTED_AT,
    SUSPENDED,
    UNCONCERNED_SECONDS,
    Asking,
    Progress,
    SyncStatus,
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
    """Waits while each look at the cluster finds the next of `looks`, and at last always the same.

    All are as the update has made them, so that Flux looks at them by itself.
    """
    remaining = list(looks)
    return wait_until_settled(
        lambda: remaining.pop(0) if len(remaining) > 1 else remaining[0],
        syncs,
        timeout,
        Asking(request=unexpected, concerned=syncs, renewed=lambda *place: True),
        clock=clock,
        sleep=clock.sleep,
    )


def unexpected(found):
    raise AssertionError(f"Flux is asked about {found}")


def progress_of(objects, where=DEV):
    """How far a sync has come, at one look."""
    return wait([objects], [where], 0, Clock())[where]


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

    expected = Progress(fetched=SyncStatus("False", "repository not found"), applied=SyncStatus("True", ""))

    assert progress_of([source, applied]) == progress_of([applied, source]) == expected


def test_a_source_without_a_sync_and_a_sync_without_a_source_are_told_as_far_as_they_go():
    found = [FETCHED, sync("False", "path not found", where=OPS)]

    assert progress_of(found) == Progress(SyncStatus("True", ""), NOT_RECONCILED)
    assert progress_of(found, OPS) == Progress(NOT_RECONCILED, SyncStatus("False", "path not found"))


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
    progress = progress_of([sync("False", "source not found")])

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


def said(answer, where, kind):
    """An object with what Flux says of it: the condition, and its message."""
    ready, message = answer
    return sync(ready, message, where=where, kind=kind)


class Flux:
    """A Flux that answers what it is asked after a while, each object by itself.

    Attributes:
        asked: kind and name of what it was asked about, in this order.
        answers: by kind, what it will say: how many seconds after the request, the condition, and its message.
    """

    def __init__(self, clock, source, kustomization, where=DEV, **answers):
        self.clock, self.answers, self.asked = clock, answers, []
        self.objects = {
            "GitRepository": said(source, where, "GitRepository"),
            "Kustomization": said(kustomization, where, "Kustomization"),
        }
        self._due = {}

    def request(self, found):
        kind = found["kind"]
        self.asked.append((kind, found["metadata"]["name"]))
        found["metadata"].setdefault("annotations", {})[REQUESTED_AT] = str(self.clock.now)
        if kind in self.answers:
            after, *answer = self.answers[kind]
            self._due[kind] = (self.clock.now + after, answer)
        return True

    def read(self):
        for kind, (due, answer) in list(self._due.items()):
            if self.clock.now >= due:
                found = self.objects[kind]
                requested = found["metadata"]["annotations"][REQUESTED_AT]
                found["status"] = said(answer, DEV, kind)["status"] | {"lastHandledReconcileAt": requested}
                del self._due[kind]
        return list(self.objects.values())

    def wait(self, timeout=60, concerned=(DEV,), renewed=(), where=DEV):
        asking = Asking(self.request, concerned, lambda kind, *place: kind in renewed)
        return wait_until_settled(self.read, [where], timeout, asking, clock=self.clock, sleep=self.clock.sleep)[where]


BOTH = [("GitRepository", "dev-team"), ("Kustomization", "dev-team")]
OLD_REFUSAL = ("False", "GitRepository/apps/app denied: url is not allowed")
STORED, DONE = ("True", "stored artifact"), ("True", "Applied revision")


def test_a_refusal_from_before_the_change_is_asked_about_and_not_told():
    clock = Clock()
    flux = Flux(clock, STORED, OLD_REFUSAL, GitRepository=(1, *STORED), Kustomization=(2, *DONE))

    assert flux.wait() == WELL
    assert flux.asked == BOTH
    assert clock.now == 103.0


def test_what_was_well_before_the_change_is_asked_about_too():
    refusal = ("False", "denied: image is not allowed")
    flux = Flux(Clock(), STORED, DONE, GitRepository=(1, *STORED), Kustomization=(2, *refusal))

    assert flux.wait().overall == SyncStatus(*refusal)
    assert flux.asked == BOTH


def test_one_that_is_well_and_that_nothing_concerns_is_not_asked():
    clock = Clock()

    assert Flux(clock, STORED, DONE).wait(concerned=()) == WELL
    assert clock.now == 100.0


def test_one_that_has_failed_is_asked_at_every_update_whether_it_still_does():
    clock = Clock()
    flux = Flux(clock, STORED, OLD_REFUSAL, GitRepository=(0, *STORED), Kustomization=(1, *DONE))

    assert flux.wait(concerned=()) == WELL
    assert flux.asked == BOTH


def test_one_that_still_fails_is_asked_once():
    clock = Clock()
    flux = Flux(clock, STORED, OLD_REFUSAL, GitRepository=(0, *STORED), Kustomization=(1, *OLD_REFUSAL))

    assert flux.wait(concerned=()).overall == SyncStatus(*OLD_REFUSAL)
    assert flux.asked == BOTH
    assert clock.now == 102.0


def test_a_kustomization_is_not_asked_where_its_source_fails():
    failure = ("False", "connection refused")
    flux = Flux(Clock(), STORED, DONE, GitRepository=(1, *failure))

    assert flux.wait() == Progress(SyncStatus(*failure), SyncStatus("True", ""))
    assert flux.asked == BOTH[:1]


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        ("Building manifests for revision main@sha1:ab", ("False", "health check failed after 5m0s")),
        # By now it is applied.
        (
            "Running health checks for revision main@sha1:ab",
            ("Unknown", "Running health checks for revision main@sha1:ab"),
        ),
    ],
)
def test_without_an_answer_the_last_reason_is_told_until_flux_is_past_it(monkeypatch, stage, told):
    clock = Clock()
    flux = Flux(clock, STORED, ("False", "health check failed after 5m0s"), GitRepository=(0, *STORED))
    read = flux.read

    def progressing():
        if len(flux.asked) == 2:
            at_it = sync("Unknown", "Reconciliation in progress")["status"]
            at_it["conditions"][0]["message"] = stage
            flux.objects["Kustomization"]["status"] = at_it
        return read()

    monkeypatch.setattr(flux, "read", progressing)

    assert flux.wait().overall == SyncStatus(*told)
    assert clock.now == 160.0


def test_without_an_answer_what_was_well_before_the_change_is_not_told_to_be_well():
    assert Flux(Clock(), STORED, DONE, GitRepository=(0, *STORED)).wait().overall == NOT_RECONCILED


@pytest.mark.parametrize("status", [OLD_REFUSAL, ("Unknown", "Reconciliation in progress")])
def test_one_that_never_settles_costs_an_update_that_does_not_concern_it_only_seconds(status):
    clock = Clock()

    assert Flux(clock, STORED, status).wait(timeout=60, concerned=()).overall == SyncStatus(*status)
    assert clock.now == 100.0 + UNCONCERNED_SECONDS


def test_no_update_waits_longer_than_was_asked_for_because_of_one_that_it_does_not_concern():
    clock = Clock()

    Flux(clock, STORED, ("Unknown", "Reconciliation in progress")).wait(timeout=3, concerned=())

    assert clock.now == 103.0


def test_what_the_update_has_made_itself_is_looked_at_without_being_asked():
    flux = Flux(Clock(), STORED, OLD_REFUSAL)

    assert flux.wait(renewed=("GitRepository", "Kustomization")).overall == SyncStatus(*OLD_REFUSAL)
    assert flux.asked == []


def test_a_new_kustomization_that_was_looked_at_before_its_source_was_there_is_asked():
    flux = Flux(Clock(), STORED, ("False", "Source artifact not found, retrying in 5s"), Kustomization=(1, *DONE))
    flux.objects["Kustomization"]["status"]["conditions"][-1]["reason"] = "ArtifactFailed"

    assert flux.wait(renewed=("GitRepository", "Kustomization")) == WELL
    assert flux.asked == BOTH[1:]


def test_one_that_is_suspended_is_never_asked():
    flux = Flux(Clock(), STORED, OLD_REFUSAL)
    for found in flux.objects.values():
        found["spec"] = {"suspend": True}

    assert flux.wait().overall == SyncStatus(*OLD_REFUSAL)
    assert flux.asked == []


def test_where_flux_could_not_be_asked_nothing_is_waited_for(monkeypatch):
    clock = Clock()
    flux = Flux(clock, STORED, OLD_REFUSAL)
    monkeypatch.setattr(flux, "request", lambda found: False)

    assert flux.wait().overall == SyncStatus(*OLD_REFUSAL)
    assert clock.now == 100.0


def test_a_request_that_somebody_else_has_made_since_is_as_good(monkeypatch):
    flux = Flux(Clock(), STORED, OLD_REFUSAL, GitRepository=(0, *STORED))
    request = flux.request

    def overtaken(found):
        request(found)
        found["metadata"]["annotations"][REQUESTED_AT] = "of flux reconcile"
        found["status"]["lastHandledReconcileAt"] = "of flux reconcile"
        return True

    monkeypatch.setattr(flux, "request", overtaken)

    assert flux.wait().overall == SyncStatus(*OLD_REFUSAL)
    assert flux.clock.now < 105.0


def test_requests_that_take_long_are_no_longer_made_when_the_time_is_over():
    """Each may take seconds where a webhook does not answer."""
    clock = Clock()
    flux = Flux(clock, STORED, DONE)
    more = [(f"of-{name}", "dev-team") for name in range(20)]
    objects = [
        each | {"spec": {}} for where in more for each in (said(STORED, where, "GitRepository"), *well(where)[1:])
    ]

    def slow(found):
        clock.sleep(10)
        return flux.request(found)

    asking = Asking(slow, more)
    progress = wait_until_settled(lambda: objects, more, 60, asking, clock=clock, sleep=clock.sleep)

    assert len(flux.asked) == 6
    assert {each.overall for each in progress.values()} == {NOT_RECONCILED}
    assert clock.now < 162.0


def test_a_look_without_time_asks_nothing():
    assert Flux(Clock(), STORED, OLD_REFUSAL).wait(timeout=0).overall == SyncStatus(*OLD_REFUSAL)


@pytest.mark.parametrize(
    ("since", "handled", "as_of"),
    [
        ("2026-11-22T21:00:00Z", None, datetime(2026, 11, 22, 21, 0, tzinfo=UTC)),
        # A source that fails in the same way keeps the time of the first failure.
        ("2026-11-22T21:00:00Z", "2026-11-22T21:05:00.25+00:00", datetime(2026, 11, 22, 21, 5, 0, 250000, UTC)),
        ("2026-11-22T21:00:00Z", "2026-11-22T20:00:00+00:00", datetime(2026, 11, 22, 21, 0, tzinfo=UTC)),
        ("2026-11-22T21:00:00Z", "now", datetime(2026, 11, 22, 21, 0, tzinfo=UTC)),
        (None, None, None),
    ],
)
def test_a_status_is_as_old_as_flux_last_answer(since, handled, as_of):
    found = sync("False", "repository not found")
    if since:
        found["status"]["conditions"][-1]["lastTransitionTime"] = since
    if handled:
        found["status"]["lastHandledReconcileAt"] = handled

    assert status_of(found).as_of == as_of


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "kustomization path not found: stat /tmp/kustomization-1931908412/nowhere: no such file or directory",
            "kustomization path not found: stat ./nowhere: no such file or directory",
        ),
        (
            "evalsymlink failure on '/data/pods/a-b.c/tmp/kustomization-252548195/staging/absent.yaml' : lstat",
            "evalsymlink failure on './staging/absent.yaml' : lstat",
        ),
        ("failed to write '/tmp/gitrepository-apps-dev-team-1234567890'", "failed to write '.'"),
        # What a tenant has called so itself.
        ("open ./apps/kustomization-2026/x.yaml", "open ./apps/kustomization-2026/x.yaml"),
        ("https://git.example.com/apps/kustomization-2026", "https://git.example.com/apps/kustomization-2026"),
        ("/apps/kustomization-2026.yaml", "/apps/kustomization-2026.yaml"),
    ],
)
def test_paths_are_told_as_the_repository_has_them(message, told):
    assert status_of(sync("False", message)).message == told
