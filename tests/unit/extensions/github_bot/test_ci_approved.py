"""What was approved by a merge: the digests that a run has left behind for the last head of the pull request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from message_codes import code_of_refusal, codes
from sample_project import write_project, write_stack
from typer.testing import CliRunner, Result

from flux_tenancy.command.app import app
from flux_tenancy.extensions.github_bot.report_comment import ARTIFACT
from flux_tenancy.project.described_stack import described_stacks
from tests.support.fake_github import OTHER_HEAD, REPOSITORY, FakeGitHub, archive

COMMIT = "c" * 40
PULL, RUN = 7, 41
DIGEST = "sha256:" + "0123456789abcdef" * 4
RUNS = "/actions/workflows/review.yaml/runs"


def digests(stack: str, digest: str = DIGEST) -> str:
    return json.dumps({"stack": stack, "digest": digest, "objects": {}, "facts": {}})


@pytest.fixture
def host(host: FakeGitHub) -> FakeGitHub:
    """A host with one merged pull request, and the run that its reviewers have seen."""
    host.pull(PULL)
    host.run(RUN)
    host.artifacts[RUN, ARTIFACT] = archive({"comment.md": "x", "staging/digest.json": digests("staging")})
    for path, found in ((f"/commits/{COMMIT}", {"sha": COMMIT}), ("/actions/workflows/review.yaml", {"id": 1})):
        host.content[path] = {**found, "url": f"{host.url}/repos/{REPOSITORY}{path}"}
    host.tips["main"] = COMMIT
    merge(host)
    seen_by(host, RUN)
    return host


def merge(host: FakeGitHub, commit: str = COMMIT, when: str | None = "2026-11-23T04:00:00Z") -> None:
    pull = host.pulls[PULL] | {"merge_commit_sha": commit, "merged_at": when}
    host.content[f"/commits/{COMMIT}/pulls"] = [pull]


def seen_by(host: FakeGitHub, *runs: int) -> None:
    found = [host.runs[run] for run in runs]
    host.content[RUNS] = {"total_count": len(found), "workflow_runs": found}


def find(out, commit: str = COMMIT) -> Result:
    return CliRunner().invoke(app, ["ci", "approved", "--commit", commit, "--out", str(out)])


def test_the_digests_of_the_run_are_written_for_each_stack(host, tmp_path):
    done = find(tmp_path)

    assert done.exit_code == 0 and done.stdout == f"staging: {DIGEST}, approved with #{PULL}\n"
    assert json.loads((tmp_path / "staging" / "digest.json").read_text()) == json.loads(digests("staging"))
    assert [path.name for path in tmp_path.iterdir()] == ["staging"]


def test_of_several_runs_the_last_one_counts(host, tmp_path):
    other = DIGEST.replace("0", "f")
    host.run(RUN + 1)
    host.artifacts[RUN + 1, ARTIFACT] = archive({"staging/digest.json": digests("staging", other)})
    seen_by(host, RUN + 1, RUN)

    assert other in find(tmp_path).stdout


@pytest.mark.parametrize(("commit", "when"), [(OTHER_HEAD, "2026-11-23T04:00:00Z"), (COMMIT, None)])
def test_a_commit_that_no_pull_request_has_made_is_not_approved(host, tmp_path, commit, when):
    merge(host, commit, when)

    assert code_of_refusal(find(tmp_path)) == "FT-REV-520"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", [{"head": OTHER_HEAD}, {"event": "push"}], ids=["head", "event"])
def test_a_run_of_another_head_or_event_approves_nothing(host, tmp_path, how):
    host.run(RUN, **how)
    seen_by(host, RUN)

    assert code_of_refusal(find(tmp_path)) == "FT-REV-521"


@pytest.mark.parametrize("stack", ["..", "a b", "staging"])
def test_a_stack_in_the_artifact_cannot_lead_to_another_folder(host, tmp_path, stack):
    host.artifacts[RUN, ARTIFACT] = archive({f"{'x' if stack == 'staging' else stack}/digest.json": digests(stack)})

    assert code_of_refusal(find(tmp_path / "out")) == "FT-REV-516"
    assert list(tmp_path.iterdir()) == []


def test_an_approval_ends_when_the_default_branch_moves_on(host, tmp_path):
    host.tips["main"] = OTHER_HEAD

    assert code_of_refusal(find(tmp_path)) == "FT-REV-560"
    assert list(tmp_path.iterdir()) == []


def test_an_approval_for_another_branch_is_none_for_the_default_branch(host, tmp_path):
    host.pulls[PULL]["base"] = {"sha": COMMIT, "ref": "theirs"}
    merge(host)

    assert code_of_refusal(find(tmp_path)) == "FT-REV-520"


def test_a_run_of_a_fork_does_not_approve_another_repository(host, tmp_path):
    host.run(RUN, owner="stranger")
    seen_by(host, RUN)

    assert code_of_refusal(find(tmp_path)) == "FT-REV-521"


def test_a_run_that_is_repeated_after_the_merge_approves_nothing(host, tmp_path):
    merge(host, when="2026-11-23T03:09:59Z")

    assert code_of_refusal(find(tmp_path)) == "FT-REV-513"


@pytest.mark.parametrize("stack", ["staging", "acme/platform/staging"])
def test_one_stack_is_written_alone(host, tmp_path, stack):
    both = {f"{name}/digest.json": digests(name) for name in ("staging", "production")}
    host.artifacts[RUN, ARTIFACT] = archive(both)

    CliRunner().invoke(app, ["ci", "approved", "--commit", COMMIT, "--out", str(tmp_path), "--stack", stack])

    assert [path.name for path in tmp_path.iterdir()] == ["staging"]


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ([{"id": 1, "type": "required_reviewers"}], ""),
        ([{"id": 1, "type": "wait_timer"}], "FT-REV-561"),
        (None, "FT-REV-561"),
    ],
)
def test_a_changed_program_is_applied_only_where_reviewers_are_required(host, tmp_path, rules, code):
    host.changed[PULL] = ["__main__.py"]
    if rules is not None:
        host.content["/environments/staging"] = {"name": "staging", "protection_rules": rules}

    done = find(tmp_path)

    assert codes(done.stderr.splitlines()[:1]) == ([code] if code else [])
    assert [path.name for path in tmp_path.iterdir()] == ([] if code else ["staging"])


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    project = write_project(tmp_path / "project")
    (project / "tenants" / "dev-team.yaml").touch()
    for name in ("staging", "production", "eu"):
        write_stack(project, name)
    monkeypatch.chdir(project)
    return project


def listed(chosen: str | None = None) -> Result:
    options = [] if chosen is None else ["--chosen", chosen]
    return CliRunner().invoke(app, ["ci", "stacks", *options], env={"STACKS": '["no-such-stack"]'})


def outputs(result: Result) -> dict[str, list[str]]:
    return {name: json.loads(text) for name, text in (line.split("=", 1) for line in result.stdout.splitlines())}


@pytest.mark.parametrize(
    ("chosen", "others", "production"),
    [
        (None, ["eu", "staging"], ["production"]),
        ("", ["eu", "staging"], ["production"]),
        ('["staging", "eu"]', ["staging", "eu"], []),
        ('["acme/flux-tenancy/production"]', [], ["production"]),
    ],
    ids=["all", "none named", "in this order", "by the last part of its name"],
)
def test_production_stacks_are_told_apart_from_those_that_come_before(project, chosen, others, production):
    found = outputs(listed(chosen))

    assert (found["others"], found["production"]) == (others, production)
    assert found["all"] == (["eu", "production", "staging"] if not chosen else [*others, *production])


def test_a_stack_file_can_say_that_it_is_production(project):
    write_stack(project, "eu", cluster={"kubeconfig": "kubeconfig", "production": True})

    assert outputs(listed())["production"] == ["eu", "production"]


@pytest.mark.parametrize("chosen", ["staging", '{"a": 1}', "[1]", '"staging"'])
def test_anything_but_a_list_of_names_is_an_error(project, chosen):
    assert code_of_refusal(listed(chosen)) == "FT-REV-519"


def test_an_unknown_stack_is_an_error(project):
    refused = listed('["staging", "../other"]')

    assert refused.exit_code == 2 and "../other" in refused.stderr


def test_a_stack_that_cannot_be_read_is_an_error_and_not_left_out(project):
    write_stack(project, "eu", cluster={"production": "perhaps"})

    assert listed().exit_code == 2


@pytest.mark.parametrize("name", ["..", ".", "a..b", ".a", "-a", "a b", "a;b", "$(a)", "a\nb", 'a"b', "a" * 101])
def test_a_file_that_is_not_named_after_a_stack_is_an_error_for_all(project, name):
    (project / f"Pulumi.{name}.yaml").write_text("config: {}\n")

    for refused in (listed(), listed('["no-such-stack"]')):
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert code_of_refusal(refused) == "FT-CFG-630"


def test_a_name_may_have_dots(project):
    write_stack(project, "eu.west")

    assert "eu.west" in described_stacks(project)
