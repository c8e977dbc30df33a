"""Runs over a fleet: waves, the bound on what runs at once, where they stop and go on."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from flux_tenancy.components.config.messages import Message
from flux_tenancy.operations import fleet as module
from flux_tenancy.operations import stack_cluster
from flux_tenancy.operations.fleet import Row, Run, State, cluster_problems, ready_row, update_fleet
from flux_tenancy.operations.fleet_file import Fleet
from flux_tenancy.operations.pulumi_cli import UNKNOWN_TO_PULUMI
from flux_tenancy.operations.tenant_overview import Health, StackOverview, TenantLine
from flux_tenancy.project.errors import OperationError

FLEET = Fleet.model_validate(
    {
        "parallel": 2,
        "readyTimeout": "1s",
        "waves": [
            {"name": "staging", "stacks": ["staging"]},
            {"name": "regions", "stacks": ["eu-1", "eu-2", "us-1"]},
            {"name": "rest", "stacks": ["ap-1"]},
        ],
    }
)


def states(run: Run) -> dict[str, str]:
    return {name: row.state.value for name, row in run.rows.items()}


def done(row: Row) -> Row:
    return replace(row, state=State.DONE)


def test_no_more_run_at_once_than_allowed_and_no_wave_before_its_turn():
    lock, now, most, order = threading.Lock(), [0], [0], []

    def act(row: Row) -> Row:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
            order.append(row.wave)
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return done(row)

    run = Run(FLEET, lambda _: None)
    run.by_wave(act, iter)

    assert (most[0], order, run.succeeded) == (2, ["staging", "regions", "regions", "regions", "rest"], True)


def test_nothing_is_started_after_a_stack_that_failed():
    def act(row: Row) -> Row:
        if row.stack == "eu-1":
            raise OperationError(Message("FT-OPS-315", "it failed", "do this"))
        time.sleep(0.05)
        return done(row)

    run = Run(FLEET, lambda _: None)
    run.by_wave(act, iter)

    assert states(run) == {"staging": "done", "eu-1": "failed", "eu-2": "done", "us-1": "waiting", "ap-1": "waiting"}
    assert (run.rows["eu-1"].message, run.succeeded) == ("it failed (FT-OPS-315)", False)


def test_kinds_that_were_not_compared_are_named(monkeypatch):
    monkeypatch.setattr(module, "read_recorded", lambda *_: SimpleNamespace(objects=[1]))
    drift = SimpleNamespace(differences=(), unread=("RoleBinding", "Secret"))
    monkeypatch.setattr(module, "find_drift", lambda *_: (drift, None))

    run = module.drift_of_fleet(FLEET, Path(), lambda _: None)

    assert {row.message for row in run.rows.values()} == {"not compared: RoleBinding, Secret"}


def test_what_only_looks_goes_on_after_a_failure():
    def act(row: Row) -> Row:
        if row.stack == "staging":
            raise OperationError(Message("FT-OPS-315", "it failed", "do this"))
        return done(row)

    run = Run(FLEET, lambda _: None)
    run.everywhere(act)

    assert list(states(run).values()) == ["failed", "done", "done", "done", "done"]


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Stacks whose updates and tenants a test decides about, and the updates that were run."""
    world = SimpleNamespace(project=tmp_path, updated=[], failing=set(), waiting=set(), digests={}, killed=None)

    def update(row, *_):
        world.updated.append(row.stack)
        if row.stack == world.killed:
            raise KeyboardInterrupt
        return replace(row, state=State.FAILED if row.stack in world.failing else State.DONE)

    def overview(stack, **_):
        health = Health.RECONCILING if stack in world.waiting else Health.READY
        return StackOverview(stack, (TenantLine("shop", health, message="fetching"),))

    monkeypatch.setattr(module, "check_clusters", lambda *_: None)
    monkeypatch.setattr(module, "_update", update)
    monkeypatch.setattr(module, "read_overview", overview)
    monkeypatch.setattr(
        module, "render_stack", lambda _, stack: SimpleNamespace(digest=world.digests.get(stack, f"of {stack}"))
    )
    monkeypatch.setattr(module, "_POLL_SECONDS", 0.01)
    return world


def test_a_wave_whose_tenants_are_not_ready_in_time_is_the_last(world):
    world.waiting.add("staging")

    run = update_fleet(FLEET, world.project, lambda _: None)

    assert world.updated == ["staging"]
    assert (run.rows["staging"].state, run.rows["staging"].message) == ("not ready", "shop is reconciling: fetching")


def test_a_wave_is_given_time_to_become_ready(world, monkeypatch):
    healths = iter([Health.RECONCILING, Health.RECONCILING])
    monkeypatch.setattr(
        module,
        "read_overview",
        lambda stack, **_: StackOverview(stack, (TenantLine("shop", next(healths, Health.READY)),)),
    )

    assert update_fleet(FLEET, world.project, lambda _: None).succeeded


def test_a_run_goes_on_where_it_stopped(world):
    world.failing.add("us-1")
    update_fleet(FLEET, world.project, lambda _: None)
    assert sorted(world.updated) == ["eu-1", "eu-2", "staging", "us-1"]
    world.failing.clear()
    world.updated.clear()

    run = update_fleet(FLEET, world.project, lambda _: None)

    # The other regions were updated, but nobody has seen their tenants ready.
    assert (world.updated, run.succeeded) == (["eu-1", "eu-2", "us-1", "ap-1"], True)
    assert run.rows["staging"].state == "done before"


def test_a_stack_that_has_changed_since_is_updated_again(world):
    world.failing.add("us-1")
    update_fleet(FLEET, world.project, lambda _: None)
    world.updated.clear()
    world.digests["staging"] = "another"

    update_fleet(FLEET, world.project, lambda _: None)

    assert world.updated[0] == "staging"


def test_a_killed_run_goes_on_where_it_was(world):
    world.killed = "ap-1"
    with pytest.raises(KeyboardInterrupt):
        update_fleet(FLEET, world.project, lambda _: None)
    world.killed = None
    world.updated.clear()

    assert update_fleet(FLEET, world.project, lambda _: None).succeeded
    assert world.updated == ["ap-1"]


def test_after_a_whole_run_the_next_one_updates_everything(world):
    update_fleet(FLEET, world.project, lambda _: None)
    world.updated.clear()

    update_fleet(FLEET, world.project, lambda _: None)

    assert len(world.updated) == 5


@pytest.mark.parametrize(
    ("clusters", "codes"),
    [
        ({"eu": ("1", "1"), "us": ("2", "")}, []),
        ({"eu": ("1", "1"), "us": ("1", "")}, ["FT-OPS-370"]),
        ({"eu": ("1", "2")}, ["FT-OPS-371"]),
        ({"eu": ("", "1"), "us": ("", "2")}, []),
    ],
)
def test_each_stack_has_its_own_cluster_and_its_own_state(clusters, codes):
    assert [each.code for each in cluster_problems(clusters)] == codes


def test_a_stack_that_pulumi_does_not_know_ends_a_run_before_it_starts(tmp_path, monkeypatch):
    def unknown(_: object, stack: str, __: object) -> str:
        raise OperationError(UNKNOWN_TO_PULUMI(stack=stack))

    monkeypatch.setattr(stack_cluster, "run_pulumi", unknown)
    monkeypatch.setattr(module, "connect_described", lambda *_: None)
    monkeypatch.setattr(module, "read_facts", lambda _: SimpleNamespace(uid="1"))

    with pytest.raises(OperationError, match="Pulumi has no stack"):
        update_fleet(FLEET, tmp_path, lambda _: None)
    assert not (tmp_path / ".fleet").exists()


@pytest.mark.parametrize(
    ("healths", "state"),
    [
        ([Health.READY, Health.SUSPENDED, Health.LEAVING], State.DONE),
        ([Health.READY, Health.FAILED], State.NOT_READY),
        ([Health.ABSENT], State.NOT_READY),
        ([], State.DONE),
    ],
)
def test_a_stack_is_ready_when_its_tenants_are(healths, state):
    overview = StackOverview("eu", tuple(TenantLine(str(number), each) for number, each in enumerate(healths)))

    assert ready_row(Row("all", "eu", State.DONE), overview).state is state


def test_a_stack_whose_cluster_does_not_answer_is_not_ready():
    row = ready_row(Row("all", "eu", State.DONE), StackOverview("eu", error="no answer"))

    assert (row.state, row.message) == (State.NOT_READY, "no answer")
