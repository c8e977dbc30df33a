"""Runs over a fleet: waves, the bound on what runs at once, where they stop and go on; and the file that has them."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.config.messages import Message
from flux_tenancy.operations import fleet as module
from flux_tenancy.operations.fleet import (
    FILE,
    OPERATOR_NAME_LIMIT,
    Fleet,
    StackRow,
    check_clusters,
    ci_matrix,
    operator_name,
    operator_stacks,
    read_fleet,
    run,
    stack_row,
    update_fleet,
)
from flux_tenancy.operations.stack.pulumi_cli import UNKNOWN_TO_PULUMI
from flux_tenancy.operations.tenants.overview import Health, StackOverview, TenantLine
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


def states(rows: list[StackRow]) -> dict[str, str]:
    return {row.stack: row.state for row in rows}


def failing(stack: str, seconds: float = 0.0):
    """What fails for this stack alone, in half of the seconds that the others take."""

    def act(row: StackRow) -> StackRow:
        if row.stack == stack:
            time.sleep(seconds / 2)
            raise OperationError(Message("FT-OPS-315", "it failed", "do this"))
        time.sleep(seconds)
        return replace(row, state="done")

    return act


def test_no_more_run_at_once_than_allowed_and_no_wave_before_its_turn():
    lock, now, most, order = threading.Lock(), [0], [0], []

    def act(row: StackRow) -> StackRow:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
            order.append(row.wave)
        time.sleep(0.2)
        with lock:
            now[0] -= 1
        return replace(row, state="done")

    rows = run(FLEET, act)

    assert (most[0], order) == (2, ["staging", "regions", "regions", "regions", "rest"])
    assert set(states(rows).values()) == {"done"}


def test_nothing_is_started_after_a_stack_that_failed(capsys):
    rows = run(FLEET, failing("eu-1", 0.08))

    assert states(rows) == {"staging": "done", "eu-1": "failed", "eu-2": "done", "us-1": "waiting", "ap-1": "waiting"}
    assert rows[1].message == "it failed (FT-OPS-315)"
    said = capsys.readouterr().err
    assert "regions eu-1: failed (" in said and " s); it failed (FT-OPS-315)\n" in said


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Stacks whose updates and tenants a test decides about, and the updates that were run."""
    world = SimpleNamespace(project=tmp_path, updated=[], failing=set(), healths={})

    def update(stack, *_):
        world.updated.append(stack)
        return "error: it failed" if stack in world.failing else ""

    def overview(stack, *_):
        health = next(world.healths.get(stack, iter(())), Health.READY)
        return StackOverview(stack, (TenantLine("shop", health, message="fetching"),))

    monkeypatch.setattr(module, "check_clusters", lambda *_: None)
    monkeypatch.setattr(module, "update_stack", update)
    monkeypatch.setattr(module, "read_overview", overview)
    monkeypatch.setattr(module, "_POLL_SECONDS", 0.01)
    return world


def test_a_stack_whose_tenants_are_not_ready_in_time_is_the_last(world):
    world.healths["staging"] = iter(lambda: Health.RECONCILING, None)

    rows = update_fleet(FLEET, world.project, None)

    assert world.updated == ["staging"]
    assert (rows[0].state, rows[0].message) == ("not ready", "shop is reconciling: fetching")


def test_run_again_a_fleet_goes_on_where_it_stopped(world):
    """And a stack is given time to become ready."""
    world.healths["staging"] = iter([Health.RECONCILING, Health.RECONCILING])
    world.failing.add("us-1")
    assert states(update_fleet(FLEET, world.project, None))["ap-1"] == "waiting"
    world.failing.clear()

    assert set(states(update_fleet(FLEET, world.project, None)).values()) == {"done"}
    assert world.updated[-1] == "ap-1"


def test_an_update_has_the_approved_render_of_its_stack(world, monkeypatch):
    options: list[list[str]] = []

    def update(_: str, given: list[str], *__: object) -> str:
        options.append(given)
        return ""

    monkeypatch.setattr(module, "update_stack", update)

    update_fleet(
        Fleet.model_validate({"waves": [{"name": "all", "stacks": ["acme/eu"]}]}), world.project, world.project
    )

    assert options == [["--approved", str(world.project / "eu" / "digest.json")]]


def test_every_error_of_an_update_is_told_and_no_line_that_only_mentions_one(tmp_path, monkeypatch):
    log = (
        "  +  kubernetes:core/v1:Pod  shop  the tenant says error: nothing\n"
        "Diagnostics:\n    error: first\n    error: second\n    error: first\nerror: last (FT-OPS-315)\n"
    )
    program = f"import sys; print({log!r}); sys.exit(2)"
    monkeypatch.setattr(module, "_COMMAND", (sys.executable, "-c", program))

    reasons = module.update_stack("eu", [], tmp_path, tmp_path / "eu.log")

    assert reasons.startswith("error: first; error: second; error: last (FT-OPS-315); exit code 2, see ")


def test_the_update_is_that_of_this_installation(tmp_path):
    reasons = module.update_stack("eu", [], tmp_path, tmp_path / "eu.log")

    assert "Pulumi.yaml" in reasons and reasons.endswith(f"; exit code 2, see {tmp_path / 'eu.log'}")


@pytest.mark.parametrize(
    ("clusters", "errors"),
    [
        ({}, []),
        ({"eu-2": "eu-1"}, ["FT-OPS-370"]),
        ({"staging": None, "us-1": None}, []),
        ({"eu-1": "unknown", "eu-2": "unknown"}, ["FT-OPS-011", "FT-OPS-011"]),
        ({"eu-1": "unknown", "ap-1": "us-1"}, ["FT-OPS-011", "FT-OPS-370"]),
    ],
)
def test_every_stack_without_a_cluster_of_its_own_is_told_before_a_run_starts(tmp_path, monkeypatch, clusters, errors):
    def connect(stack, _):
        cluster = clusters.get(stack, stack)
        if cluster is None:
            raise ClusterUnavailable("", Message("FT-CFG-020", "no answer"))
        if cluster == "unknown":
            raise OperationError(UNKNOWN_TO_PULUMI(stack=stack))
        return cluster

    monkeypatch.setattr(module, "connect_to", connect)
    monkeypatch.setattr(module, "read_facts", lambda api: SimpleNamespace(uid=api))

    if not errors:
        check_clusters(FLEET, tmp_path)
        return
    with pytest.raises(OperationError) as refused:
        update_fleet(FLEET, tmp_path, None)
    assert [each.rpartition("(")[2].partition(")")[0] for each in refused.value.problems] == errors
    assert not (tmp_path / ".fleet").exists()


@pytest.mark.parametrize(
    ("healths", "error", "state"),
    [
        ([Health.READY, Health.SUSPENDED, Health.LEAVING], "", "done"),
        ([Health.READY, Health.FAILED], "", "not ready"),
        ([Health.ABSENT], "", "not ready"),
        ([], "", "done"),
        ([], "no answer", "not ready"),
    ],
)
def test_a_stack_is_ready_when_its_cluster_answers_and_its_tenants_are(tmp_path, monkeypatch, healths, error, state):
    tenants = tuple(TenantLine(str(number), each) for number, each in enumerate(healths))
    monkeypatch.setattr(module, "read_overview", lambda *_: StackOverview("eu", tenants, error))

    row = stack_row(StackRow("all", "eu"), tmp_path)

    assert row.state == state and (row.message == error or not error)


TEXT = """
parallel: 2
waves:
  - {name: staging, stacks: [staging]}
  - {name: regions, stacks: [eu-1, us-1]}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: platform\nruntime: python\n")
    for stack in ("staging", "eu-1", "us-1"):
        (tmp_path / f"Pulumi.{stack}.yaml").write_text("")
    (tmp_path / FILE).write_text(TEXT)
    return tmp_path


def test_a_fleet_has_its_stacks_in_waves(project):
    fleet = read_fleet(project)

    assert [(each.name, each.stacks) for each in fleet.waves] == [
        ("staging", ("staging",)),
        ("regions", ("eu-1", "us-1")),
    ]
    assert (fleet.parallel, fleet.ready_timeout) == (2, "10m")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("[staging]", "[stagin]", "waves: stack 'stagin' has no Pulumi.stagin.yaml"),
        ("[staging]", "[stagin, eu-1]", "error: 2 errors"),
        ("[staging]", "[eu-1]", "waves: 'eu-1' is listed twice; remove"),
        ("[staging]", "[acme/eu-1]", "waves: 'eu-1' is listed twice; remove"),
        ("[staging]", "[acme/stagin]", "waves: stack 'stagin' has no Pulumi.stagin.yaml"),
        ("[staging]", "[acme/p/../staging]", "'acme/p/../staging' is not a valid stack name"),
        ("[eu-1, us-1]", "[eu-1, eu-1]", "waves: 'eu-1' is listed twice"),
        ("name: regions", "name: staging", "waves: 'staging' is listed twice"),
        ("[staging]", "[]", "waves[0].stacks: "),
        ("parallel: 2", "parallel: 0", "parallel: must be at least 1, got 0"),
        ("parallel: 2", "paralell: 2", "paralell: is an unknown key"),
        ("parallel: 2", "readyTimeout: 5", "readyTimeout: 5 is not a duration with its unit"),
        ("parallel: 2", "parallel: 2\nparallel: 3", "duplicate key"),
    ],
)
def test_bad_input_is_refused_with_its_place(project, before, after, said):
    (project / FILE).write_text(TEXT.replace(before, after))

    with pytest.raises(OperationError) as refused:
        read_fleet(project)

    assert refused.value.report.startswith("error: ") and said in refused.value.report


def test_a_project_without_the_file_is_told_so(project):
    (project / FILE).unlink()

    with pytest.raises(OperationError, match="fleet.yaml: cannot be read"):
        read_fleet(project)


def test_a_workflow_has_a_matrix_for_each_wave(project):
    assert ci_matrix(read_fleet(project)) == {
        "staging": {"fail-fast": True, "max-parallel": 2, "matrix": {"stack": ["staging"]}},
        "regions": {"fail-fast": True, "max-parallel": 2, "matrix": {"stack": ["eu-1", "us-1"]}},
    }


def test_the_operator_waits_for_the_wave_before(project):
    first, second, third = operator_stacks(read_fleet(project), "platform", "acme", "https://git.example.com/p", "main")

    assert first["metadata"]["name"] == "platform-staging"
    assert (first["spec"]["stack"], "prerequisites" in first["spec"]) == ("acme/platform/staging", False)
    assert [each["spec"]["prerequisites"] for each in (second, third)] == [[{"name": "platform-staging"}]] * 2
    assert yaml.safe_load(yaml.safe_dump(second)) == second


def test_a_stack_may_name_its_organization_and_project(project):
    (project / FILE).write_text(TEXT.replace("[staging]", "[acme/platform/staging]"))

    fleet = read_fleet(project)
    first, second, _ = operator_stacks(fleet, "platform", "others", "https://git.example.com/p", "main")

    assert ci_matrix(fleet)["staging"]["matrix"] == {"stack": ["acme/platform/staging"]}
    assert (first["metadata"]["name"], first["spec"]["stack"]) == ("platform-staging", "acme/platform/staging")
    assert second["spec"]["stack"] == "others/platform/eu-1"
    assert second["spec"]["prerequisites"] == [{"name": "platform-staging"}]


@pytest.mark.parametrize("stack", ["production", "Production", "pro.duction", "p" * 60, "production-" + "x" * 40])
def test_a_stack_has_a_name_that_the_operator_takes(stack):
    name = operator_name("platform", stack)

    assert len(name) <= OPERATOR_NAME_LIMIT and name == name.lower() and "." not in name
    assert name != operator_name("platform", f"{stack}y")


def test_names_that_differ_in_what_a_label_cannot_have_stay_different():
    assert len({operator_name("p", stack) for stack in ("eu-1", "eu.1", "EU-1", "eu_1")}) == 4


def test_a_fleet_of_one_wave_waits_for_nothing():
    fleet = Fleet.model_validate({"waves": [{"name": "all", "stacks": ["a", "b"]}]})

    assert all("prerequisites" not in each["spec"] for each in operator_stacks(fleet, "p", "o", "u", "main"))
