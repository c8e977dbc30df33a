"""The status of a sync, read from Flux's conditions, without waiting longer than the timeout."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sample_text import ESCAPES, SHOWN

from flux_tenancy.components.sync.progress import UNCONCERNED_SECONDS, ReconcileRequests, wait_until_settled
from flux_tenancy.components.sync.status import (
    NOT_RECONCILED,
    REQUESTED_AT,
    SUSPENDED,
    Progress,
    Sync,
    SyncStatus,
    lasted,
    status_of,
    sync_of,
)
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, KUSTOMIZATION

DEV, OPS = ("apps", "dev-team"), ("tools", "ops-team")


def sync(ready=None, message="", generation=2, observed=2, where=DEV, kind="Kustomization"):
    """A Kustomization or its source, with or without a Ready condition."""
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


def ready_sync(where):
    """A source that is fetched and a Kustomization that is applied."""
    return [sync("True", "stored artifact", where=where, kind="GitRepository"), sync("True", "Applied", where=where)]


def at(*places):
    """The syncs with these names."""
    return {where: Sync((GIT_REPOSITORY, *where), (KUSTOMIZATION, *where)) for where in places}


class Clock:
    """A clock whose time passes only in `sleep`."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def settle(read, syncs, timeout, requests, clock):
    """Wait for syncs by a clock of the test."""
    return wait_until_settled(read, syncs, timeout, requests, clock=clock, sleep=clock.sleep)


def renewed(*syncs):
    """What an update has changed, so that Flux must not be asked to reconcile it."""
    return ReconcileRequests(request=unexpected, concerned=syncs, renewed=lambda *place: True)


def unexpected(found):
    raise AssertionError(f"Flux is asked about {found}")


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
        # Otherwise every update would wait for a sync that was suspended before its first result.
        ({"metadata": {"generation": 1}, "spec": {"suspend": True}}, SUSPENDED, True),
    ],
)
def test_a_sync_is_settled_once_flux_has_a_result_for_the_current_generation(found, status, settled):
    assert status_of(found) == status
    assert status_of(found).settled is settled


def test_health_checks_canceled_by_a_newer_revision_are_not_a_failure():
    found = sync("False", "New reconciliation triggered by GitRepository/apps/dev-team")
    found["status"]["conditions"][-1]["reason"] = "HealthCheckCanceled"

    status = status_of(found)

    assert status == SyncStatus("Unknown", "New reconciliation triggered by GitRepository/apps/dev-team")
    assert not status.settled


FETCHED = sync("True", "stored artifact", kind="GitRepository")
WELL = Progress(SyncStatus("True", ""), SyncStatus("True", ""))


READY, NO_PATH, NO_REPOSITORY = (
    SyncStatus("True", ""),
    SyncStatus("False", "path not found"),
    SyncStatus("False", "repository not found"),
)
BUSY = sync("Unknown", "in progress")
PARTIAL = [FETCHED, sync("False", "path not found", where=OPS)]
FAILED = [sync("False", "repository not found", kind="GitRepository"), sync("True", "Applied revision")]


@pytest.mark.parametrize(
    ("looks", "timeout", "expected", "waited"),
    [
        pytest.param([FAILED], 60, {DEV: Progress(NO_REPOSITORY, READY)}, 0, id="a source and a sync of one name"),
        pytest.param([FAILED[::-1]], 60, {DEV: Progress(NO_REPOSITORY, READY)}, 0, id="in the other order"),
        pytest.param(
            [PARTIAL],
            3,
            {DEV: Progress(READY, NOT_RECONCILED), OPS: Progress(NOT_RECONCILED, NO_PATH)},
            3,
            id="a source or a sync alone, even if the sync has failed without its source",
        ),
        pytest.param(
            [[*FAILED, *ready_sync(OPS)]],
            60,
            {DEV: Progress(NO_REPOSITORY, READY), OPS: WELL},
            0,
            id="a failed tenant beside a ready one",
        ),
        pytest.param([[], [FETCHED], [FETCHED, BUSY], ready_sync(DEV)], 60, {DEV: WELL}, 3, id="until the last result"),
        pytest.param(
            [ready_sync(DEV), [*ready_sync(DEV), *ready_sync(OPS)]], 60, {DEV: WELL, OPS: WELL}, 1, id="the last tenant"
        ),
        pytest.param(
            [[FETCHED, BUSY]],
            5,
            {DEV: Progress(READY, SyncStatus("Unknown", "in progress")), OPS: Progress()},
            5,
            id="never longer than the timeout",
        ),
        pytest.param([[], ready_sync(DEV)], 0, {DEV: Progress()}, 0, id="read once without a timeout"),
        pytest.param([ready_sync(("elsewhere", "dev-team"))], 0, {DEV: Progress()}, 0, id="one of another namespace"),
    ],
)
def test_each_sync_is_waited_for_until_it_has_a_result_and_no_longer_than_the_timeout(looks, timeout, expected, waited):
    """Each read of the cluster returns the next of `looks`, and then always the last one."""
    clock, remaining = Clock(), list(looks)

    found = settle(
        lambda: remaining.pop(0) if len(remaining) > 1 else remaining[0],
        at(*expected),
        timeout,
        renewed(*expected),
        clock,
    )

    assert found == expected
    assert clock.now == 100.0 + waited


@pytest.mark.parametrize(
    ("of_source", "of_sync", "status"),
    [
        (("True", ""), ("True", ""), SyncStatus("True", "")),
        # The Kustomization only reports that there is nothing to apply; the source reports why.
        (("False", "repository not found"), ("False", "no artifact"), SyncStatus("False", "repository not found")),
        (("False", "repository not found"), ("Unknown", "waiting"), SyncStatus("False", "repository not found")),
        # What was applied before stays applied, but a failing source delivers nothing new.
        (("False", "no supported key"), ("True", ""), SyncStatus("False", "no supported key")),
        (("Unknown", "fetching"), ("True", ""), SyncStatus("Unknown", "fetching")),
        (("True", ""), ("False", "path not found"), SyncStatus("False", "path not found")),
        (("True", ""), ("Unknown", "in progress"), SyncStatus("Unknown", "in progress")),
    ],
)
def test_the_overall_status_is_the_sources_until_it_is_ready(of_source, of_sync, status):
    assert Progress(SyncStatus(*of_source), SyncStatus(*of_sync)).overall == status


def test_a_message_is_one_line_without_control_characters():
    assert status_of(sync("False", ESCAPES)) == SyncStatus("False", SHOWN)


def with_answer(answer, where, kind):
    """An object with Flux's condition and message."""
    ready, message = answer
    return sync(ready, message, where=where, kind=kind)


class Flux:
    """A stub of Flux that handles requests after a while, separately for each object.

    Attributes:
        asked: kind and name of the requested objects, in this order.
        answers: by kind, how it handles a request: after how many seconds, with which condition and message.
    """

    def __init__(self, clock, source, kustomization, where=DEV, **answers):
        self.clock, self.answers, self.asked = clock, answers, []
        self.objects = {
            "GitRepository": with_answer(source, where, "GitRepository"),
            "Kustomization": with_answer(kustomization, where, "Kustomization"),
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
                found["status"] = with_answer(answer, DEV, kind)["status"] | {"lastHandledReconcileAt": requested}
                del self._due[kind]
        return list(self.objects.values())

    def wait(self, timeout=60, concerned=(DEV,), renewed=(), where=DEV):
        requests = ReconcileRequests(self.request, concerned, lambda kind, *place: kind in renewed)
        return settle(self.read, at(where), timeout, requests, self.clock)[where]


BOTH = [("GitRepository", "dev-team"), ("Kustomization", "dev-team")]
OLD_REFUSAL = ("False", "GitRepository/apps/app denied: url is not allowed")
STORED, DONE = ("True", "stored artifact"), ("True", "Applied revision")


def test_a_failure_from_before_the_change_is_checked_again_and_not_reported():
    clock = Clock()
    flux = Flux(clock, STORED, OLD_REFUSAL, GitRepository=(1, *STORED), Kustomization=(2, *DONE))

    assert flux.wait() == WELL
    assert flux.asked == BOTH
    assert clock.now == 103.0


def test_a_sync_that_was_ready_before_the_change_is_also_checked_again():
    refusal = ("False", "denied: image is not allowed")
    flux = Flux(Clock(), STORED, DONE, GitRepository=(1, *STORED), Kustomization=(2, *refusal))

    assert flux.wait().overall == SyncStatus(*refusal)
    assert flux.asked == BOTH


def test_a_ready_sync_that_no_change_concerns_is_not_requested():
    clock = Clock()

    assert Flux(clock, STORED, DONE).wait(concerned=()) == WELL
    assert clock.now == 100.0


def test_a_failed_sync_is_requested_in_every_update():
    flux = Flux(Clock(), STORED, OLD_REFUSAL, GitRepository=(0, *STORED), Kustomization=(1, *DONE))

    assert flux.wait(concerned=()) == WELL
    assert flux.asked == BOTH


def test_a_sync_that_still_fails_is_requested_once():
    clock = Clock()
    flux = Flux(clock, STORED, OLD_REFUSAL, GitRepository=(0, *STORED), Kustomization=(1, *OLD_REFUSAL))

    assert flux.wait(concerned=()).overall == SyncStatus(*OLD_REFUSAL)
    assert flux.asked == BOTH
    assert clock.now == 102.0


def test_a_kustomization_is_not_requested_while_its_source_fails():
    failure = ("False", "connection refused")
    flux = Flux(Clock(), STORED, DONE, GitRepository=(1, *failure))

    assert flux.wait() == Progress(SyncStatus(*failure), SyncStatus("True", ""))
    assert flux.asked == BOTH[:1]


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("Building manifests for revision main@sha1:ab", ("False", "health check failed after 5m0s")),
        # Everything is applied at this stage.
        (
            "Running health checks for revision main@sha1:ab",
            ("Unknown", "Running health checks for revision main@sha1:ab"),
        ),
    ],
)
def test_the_previous_failure_is_reported_until_a_new_result_or_health_checks(monkeypatch, stage, expected):
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

    assert flux.wait().overall == SyncStatus(*expected)
    assert clock.now == 160.0


def test_a_sync_that_was_ready_before_the_change_is_not_reported_ready_without_a_new_result():
    assert Flux(Clock(), STORED, DONE, GitRepository=(0, *STORED)).wait().overall == NOT_RECONCILED


@pytest.mark.parametrize("status", [OLD_REFUSAL, ("Unknown", "Reconciliation in progress")])
def test_a_sync_that_never_settles_delays_updates_that_do_not_concern_it_by_seconds(status):
    clock = Clock()

    assert Flux(clock, STORED, status).wait(timeout=60, concerned=()).overall == SyncStatus(*status)
    assert clock.now == 100.0 + UNCONCERNED_SECONDS


def test_a_sync_that_no_change_concerns_is_not_waited_for_beyond_the_timeout():
    clock = Clock()

    Flux(clock, STORED, ("Unknown", "Reconciliation in progress")).wait(timeout=3, concerned=())

    assert clock.now == 103.0


def test_an_object_that_the_update_has_changed_is_not_requested():
    flux = Flux(Clock(), STORED, OLD_REFUSAL)

    assert flux.wait(renewed=("GitRepository", "Kustomization")).overall == SyncStatus(*OLD_REFUSAL)
    assert flux.asked == []


def test_a_new_kustomization_that_was_reconciled_before_its_source_is_requested():
    flux = Flux(Clock(), STORED, ("False", "Source artifact not found, retrying in 5s"), Kustomization=(1, *DONE))
    flux.objects["Kustomization"]["status"]["conditions"][-1]["reason"] = "ArtifactFailed"

    assert flux.wait(renewed=("GitRepository", "Kustomization")) == WELL
    assert flux.asked == BOTH[1:]


def test_a_suspended_sync_is_never_requested():
    flux = Flux(Clock(), STORED, OLD_REFUSAL)
    for found in flux.objects.values():
        found["spec"] = {"suspend": True}

    assert flux.wait().overall == SyncStatus(*OLD_REFUSAL)
    assert flux.asked == []


def test_a_sync_whose_request_failed_is_not_waited_for(monkeypatch):
    clock = Clock()
    flux = Flux(clock, STORED, OLD_REFUSAL)
    monkeypatch.setattr(flux, "request", lambda found: False)

    assert flux.wait().overall == SyncStatus(*OLD_REFUSAL)
    assert clock.now == 100.0


def test_a_later_request_by_another_client_also_counts(monkeypatch):
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


def test_slow_requests_stop_after_the_timeout():
    """Each request may take seconds if a webhook does not answer."""
    clock = Clock()
    flux = Flux(clock, STORED, DONE)
    more = [(f"of-{name}", "dev-team") for name in range(20)]
    objects = [
        each | {"spec": {}}
        for where in more
        for each in (with_answer(STORED, where, "GitRepository"), *ready_sync(where)[1:])
    ]

    def slow(found):
        clock.sleep(10)
        return flux.request(found)

    progress = settle(lambda: objects, at(*more), 60, ReconcileRequests(slow, more), clock)

    assert len(flux.asked) == 6
    assert {each.overall for each in progress.values()} == {NOT_RECONCILED}
    assert clock.now < 162.0


def test_without_a_timeout_nothing_is_requested():
    assert Flux(Clock(), STORED, OLD_REFUSAL).wait(timeout=0).overall == SyncStatus(*OLD_REFUSAL)


@pytest.mark.parametrize(
    ("since", "handled", "as_of"),
    [
        ("2026-11-22T21:00:00Z", None, datetime(2026, 11, 22, 21, 0, tzinfo=UTC)),
        # A source that keeps failing in the same way keeps the time of its first failure.
        ("2026-11-22T21:00:00Z", "2026-11-22T21:05:00.25+00:00", datetime(2026, 11, 22, 21, 5, 0, 250000, UTC)),
        ("2026-11-22T21:00:00Z", "2026-11-22T20:00:00+00:00", datetime(2026, 11, 22, 21, 0, tzinfo=UTC)),
        ("2026-11-22T21:00:00Z", "now", datetime(2026, 11, 22, 21, 0, tzinfo=UTC)),
        # Whoever may request a reconciliation writes it.
        ("2026-11-22T21:00:00Z", "0001-01-01T00:00:00+14:00", datetime(2026, 11, 22, 21, 0, tzinfo=UTC)),
        ("2026-11-22T21:00:00Z", "9999-12-31T23:59:59-14:00", datetime(2026, 11, 22, 21, 0, tzinfo=UTC)),
        (None, None, None),
    ],
)
def test_a_status_dates_from_the_last_result_of_flux(since, handled, as_of):
    found = sync("False", "repository not found")
    if since:
        found["status"]["conditions"][-1]["lastTransitionTime"] = since
    if handled:
        found["status"]["lastHandledReconcileAt"] = handled

    assert status_of(found).as_of == as_of


@pytest.mark.parametrize(
    ("message", "expected"),
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
        # A name that the tenant itself has chosen.
        ("open ./apps/kustomization-2026/x.yaml", "open ./apps/kustomization-2026/x.yaml"),
        ("https://git.example.com/apps/kustomization-2026", "https://git.example.com/apps/kustomization-2026"),
        ("/apps/kustomization-2026.yaml", "/apps/kustomization-2026.yaml"),
    ],
)
def test_paths_in_messages_are_relative_to_the_repository(message, expected):
    assert status_of(sync("False", message)).message == expected


BLOCKED = ("False", "dependency 'apps/dev-team' is not ready")
DEPENDENT = ("apps", "app")


def waiting_for():
    """A sync and one that depends on it."""
    syncs = at(DEV, DEPENDENT)
    return syncs | {DEPENDENT: replace(syncs[DEPENDENT], needed=(syncs[DEV].applied,))}


def dependent(ready, message, reason):
    source, applied = ready_sync(DEPENDENT)
    applied["status"]["conditions"][-1] |= {"status": ready, "message": message, "reason": reason}
    return [source, applied | {"spec": {}}]


def test_a_sync_that_waits_for_another_is_asked_as_soon_as_that_one_is_ready():
    clock, asked = Clock(), []
    objects = [FETCHED, sync("Unknown", "in progress"), *dependent(*BLOCKED, "DependencyNotReady")]

    def read():
        if clock.now >= 103.0:
            objects[1] = ready_sync(DEV)[1]
        return objects

    def request(found):
        asked.append((found["metadata"]["name"], clock.now))
        objects[3] = dependent("True", "Applied", "ReconciliationSucceeded")[1]
        objects[3]["metadata"] = found["metadata"] | {"annotations": {REQUESTED_AT: "now"}}
        objects[3]["status"]["lastHandledReconcileAt"] = "now"
        return True

    requests = ReconcileRequests(request, (DEV, DEPENDENT), lambda *place: True)
    progress = settle(read, waiting_for(), 60, requests, clock)

    assert asked == [("app", 103.0)]
    assert progress[DEPENDENT].overall == SyncStatus("True", "")


def test_a_sync_that_waits_for_one_that_has_failed_is_not_waited_for():
    clock = Clock()
    objects = [FETCHED, sync("False", "path not found"), *dependent(*BLOCKED, "DependencyNotReady")]

    progress = settle(lambda: objects, waiting_for(), 60, renewed(DEV, DEPENDENT), clock)

    assert progress[DEPENDENT].overall == SyncStatus(*BLOCKED)
    assert clock.now == 100.0


CHART = ("HelmChart", "apps", "apps-podinfo")
RELEASE = Sync(CHART, ("HelmRelease", "apps", "podinfo"))


def release(ready, message="", reason="", history=()):
    found = sync(ready, message, where=("apps", "podinfo"), kind="HelmRelease") | {"spec": {}}
    found["status"]["conditions"][-1]["reason"] = reason
    found["status"]["history"] = list(history)
    return found


def progress_of_release(*objects, timeout=5):
    clock = Clock()
    found = settle(lambda: objects, {"podinfo": RELEASE}, timeout, renewed("podinfo"), clock)
    return found["podinfo"], clock.now - 100.0


def test_a_release_has_the_version_of_the_chart_that_was_deployed_last():
    history = [
        {"chartVersion": "2.0.0", "status": "failed"},
        {"chartVersion": "1.1.0", "status": "deployed"},
        {"chartVersion": "1.0.0", "status": "superseded"},
    ]
    chart = sync("True", "packaged", where=CHART[1:], kind="HelmChart")

    found, _ = progress_of_release(chart, release("True", history=history))

    assert (found.overall, found.revision) == (SyncStatus("True", ""), "1.1.0")


def test_a_chart_that_cannot_be_fetched_is_why_a_release_is_not_ready():
    chart = sync("False", "no 'podinfo' chart with version matching '9.x' found", where=CHART[1:], kind="HelmChart")

    found, waited = progress_of_release(chart, release("False", "HelmChart is not ready", "SourceNotReady"))

    assert found.overall.message == "no 'podinfo' chart with version matching '9.x' found"
    assert waited == 0.0


def test_a_release_without_a_chart_yet_says_itself_why():
    found, waited = progress_of_release(release("False", "HelmChart is not ready", "SourceNotReady"))

    assert found.overall == SyncStatus("False", "HelmChart is not ready")
    assert waited == 5.0


@pytest.mark.parametrize(
    ("spec", "source"),
    [
        ({"chart": {"spec": {"sourceRef": {"kind": "HelmRepository", "name": "charts"}}}}, CHART),
        ({"chartRef": {"kind": "OCIRepository", "name": "charts"}}, ("OCIRepository", "apps", "charts")),
    ],
)
def test_the_source_of_a_release_is_its_chart(spec, source):
    manifest = {"kind": "HelmRelease", "metadata": {"namespace": "apps", "name": "podinfo"}, "spec": spec}

    assert sync_of(manifest) == replace(RELEASE, source=source)


def test_the_source_of_a_sync_and_what_it_depends_on_are_in_its_namespace():
    spec = {"sourceRef": {"kind": "Bucket", "name": "assets"}, "dependsOn": [{"name": "db"}]}
    manifest = {"kind": "Kustomization", "metadata": {"namespace": "apps", "name": "app"}, "spec": spec}

    assert sync_of(manifest) == Sync(
        ("Bucket", "apps", "assets"), ("Kustomization", "apps", "app"), (("Kustomization", "apps", "db"),)
    )


def test_a_sync_of_another_controllers_artifact_is_ready_as_soon_as_it_is_applied():
    clock = Clock()
    built = Sync(("ExternalArtifact", "apps", "built"), ("Kustomization", *DEV))

    found = settle(lambda: [sync("True")], {"dev-team": built}, 60, renewed("dev-team"), clock)

    assert (found["dev-team"].overall.ready, clock.now) == ("True", 100.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 seconds"),
        (1, "1 second"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (7199, "119 minutes"),
        (7200, "2 hours"),
        (200000, "2 days"),
    ],
)
def test_a_duration_is_formatted_for_people(seconds, text):
    assert lasted(timedelta(seconds=seconds)) == text
