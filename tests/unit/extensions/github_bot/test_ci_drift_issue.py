"""One issue about drift: opened, updated, and closed when the drift is gone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from message_codes import code_of_refusal
from typer.testing import CliRunner, Result

from flux_tenancy.command.app import app
from flux_tenancy.extensions.github_bot.drift_issue import MARKER, SHOWN
from flux_tenancy.extensions.github_bot.report_comment import BODY_LIMIT
from tests.support.fake_github import BOT, FakeGitHub, archive

RUN = 41
CHANGED = {
    "what": "changed",
    "kind": "Deployment",
    "namespace": "flux-system",
    "name": "kustomize-controller",
    "field": "spec.template.spec.containers[0].args",
    "by": "kubectl-edit",
    "since": "2026-11-22T21:14:05+00:00",
    "stack": "--no-remote-bases=true",
    "cluster": "a-value-of-the-cluster",
}


@pytest.fixture
def host(host: FakeGitHub) -> FakeGitHub:
    host.run(RUN, event="schedule")
    return host


def compared(host: FakeGitHub, unread: Sequence[str] = (), **stacks: list[dict[str, str]] | None) -> Result:
    """A run that has compared stacks, with what it has found in each; None for one that failed."""
    for stack, differences in stacks.items():
        host.artifacts.pop((RUN, f"drift-{stack}"), None)
        if differences is not None:
            content = json.dumps({"compared": 188, "unread": unread, "differences": differences})
            host.artifacts[RUN, f"drift-{stack}"] = archive({"drift.json": content})
    return CliRunner().invoke(app, ["ci", "drift-issue", "--run", str(RUN), "--stack", ",".join(stacks)])


def issues(host: FakeGitHub) -> list[dict[str, Any]]:
    return list(host.issues.values())


def test_drift_opens_an_issue_that_names_object_field_manager_and_time_without_values_of_the_cluster(host):
    compared(host, staging=[], production=[CHANGED])

    [issue] = issues(host)
    assert issue["body"].startswith(MARKER) and "## `production`" in issue["body"]
    assert "## `staging`" not in issue["body"]
    assert CHANGED["cluster"] not in issue["body"]
    row = "| `changed` | `Deployment flux-system/kustomize-controller` | `spec.template.spec.containers[0].args` | "
    assert f"{row}`kubectl-edit` | `2026-11-22T21:14:05+00:00` |" in issue["body"]


def test_a_stack_is_reported_by_the_last_part_of_its_name(host):
    compared(host, production=[CHANGED])
    host.issues.clear()
    CliRunner().invoke(app, ["ci", "drift-issue", "--run", str(RUN), "--stack", "acme/platform/production"])

    [issue] = issues(host)
    assert "## `production`" in issue["body"] and CHANGED["name"] in issue["body"]


def test_the_next_night_updates_the_same_issue_and_closes_it_when_the_drift_is_gone(host):
    compared(host, staging=[CHANGED])

    assert compared(host, staging=[CHANGED | {"name": "helm-controller"}]).stdout.startswith("Updated:")
    assert [(issue["state"], "helm-controller" in issue["body"]) for issue in issues(host)] == [("open", True)]

    assert compared(host, staging=[]).stdout.startswith("Closed:")
    assert [issue["state"] for issue in issues(host)] == ["closed"]

    compared(host, staging=[CHANGED])
    assert [issue["state"] for issue in issues(host)] == ["closed", "open"]


def test_no_drift_and_no_issue_writes_nothing(host):
    assert compared(host, staging=[]).exit_code == 0
    assert host.writes == []


def test_a_stack_that_could_not_be_compared_keeps_the_issue_open(host):
    compared(host, staging=[CHANGED], production=[])

    assert compared(host, staging=[], production=None).stdout.startswith("Left open")
    assert [issue["state"] for issue in issues(host)] == ["open"]

    compared(host, staging=[CHANGED], production=None)
    assert "## `production`\n\nIt could not be compared" in issues(host)[0]["body"]


def test_what_was_not_compared_is_named(host):
    compared(host, staging=[CHANGED], unread=["RoleBinding"])
    sentence = "Not compared in `staging`, since the workflow may not list them: `RoleBinding`."
    assert sentence in issues(host)[0]["body"]

    compared(host, staging=[], unread=["RoleBinding"])
    assert sentence in issues(host)[0]["body"]
    assert "Nothing is reported, but not every stack was compared." in compared(host, staging=None).stdout


def test_an_issue_of_somebody_else_is_left_alone(host):
    host.issues[1] = host._described(1, "mallory") | {"body": MARKER}

    compared(host, staging=[CHANGED])

    assert [issue["user"]["login"] for issue in issues(host)] == ["mallory", BOT]
    assert host.issues[1]["body"] == MARKER


def test_names_of_tenants_act_on_nobody_and_a_long_list_is_counted(host):
    compared(host, staging=[CHANGED | {"name": "a`@admin`<img>|b\x1b"}] * (SHOWN + 5))

    body = issues(host)[0]["body"]
    assert "`Deployment flux-system/a\u200b@admin\u200b<img>\\|b`" in body and "And 5 more" in body


def test_an_artifact_that_is_no_list_of_differences_is_an_error(host):
    host.artifacts[RUN, "drift-staging"] = archive({"drift.json": "[]"})

    failed = CliRunner().invoke(app, ["ci", "drift-issue", "--run", str(RUN), "--stack", "staging"])

    assert code_of_refusal(failed) == "FT-REV-516"


def test_an_issue_is_never_longer_than_the_host_accepts(host):
    long = CHANGED | {"field": "spec." + "x" * 500}

    compared(host, (), **{f"stack-{number}": [long] * SHOWN for number in range(5)})

    body = issues(host)[0]["body"]
    assert len(body) <= BODY_LIMIT and "shows all of it" in body


def test_an_artifact_has_no_values_and_is_read_again(host, tmp_path):
    written, file = tmp_path / "compared.json", tmp_path / "drift.json"
    written.write_text(json.dumps({"compared": 188, "unread": [], "differences": [CHANGED]}))

    done = CliRunner().invoke(app, ["ci", "redact", "--drift", str(written), "--file", str(file)])

    assert done.exit_code == 0, done.output
    assert "a-value-of-the-cluster" not in file.read_text() and CHANGED["stack"] not in file.read_text()
    assert json.loads(file.read_text())["differences"][0]["field"] == CHANGED["field"]


def test_a_failed_comparison_leaves_no_artifact(tmp_path):
    (tmp_path / "compared.json").write_text("")
    arguments = ["--drift", str(tmp_path / "compared.json"), "--file", str(tmp_path / "drift.json")]

    failed = CliRunner().invoke(app, ["ci", "redact", *arguments])

    assert code_of_refusal(failed) == "FT-REV-562" and not (tmp_path / "drift.json").exists()
