"""What was approved by a merge: the digests that a run has left behind for the last head of the pull request."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from message_codes import codes
from typer.testing import CliRunner, Result

from flux_tenancy.command.app import app
from flux_tenancy.extensions.github_bot.report_comment import ARTIFACT
from tests.support.fake_github import HEAD, OTHER_HEAD, REPOSITORY, FakeGitHub, archive, github

COMMIT = "c" * 40
PULL, RUN = 7, 41
DIGEST = "sha256:" + "0123456789abcdef" * 4
RUNS = "/actions/workflows/review.yaml/runs"


def digests(stack: str, digest: str = DIGEST) -> str:
    return json.dumps({"stack": stack, "digest": digest, "objects": {}, "facts": {}})


@pytest.fixture
def host(monkeypatch) -> Iterator[FakeGitHub]:
    """A host with one merged pull request, and the run that its reviewers have seen."""
    with github() as fake:
        for name, value in fake.environ.items():
            monkeypatch.setenv(name, value)
        fake.pull(PULL)
        fake.run(RUN)
        fake.artifacts[RUN, ARTIFACT] = archive({"comment.md": "x", "staging/digest.json": digests("staging")})
        url = f"{fake.url}/repos/{REPOSITORY}"
        fake.content[f"/commits/{COMMIT}"] = {"sha": COMMIT, "url": f"{url}/commits/{COMMIT}"}
        fake.content["/actions/workflows/review.yaml"] = {"id": 1, "url": f"{url}/actions/workflows/review.yaml"}
        fake.tips["main"] = COMMIT
        merge(fake)
        seen_by(fake, RUN)
        yield fake


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

    failed = find(tmp_path)

    assert failed.exit_code == 2 and codes(failed.stderr.splitlines()[:1]) == ["FT-REV-520"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("head", "event"), [(OTHER_HEAD, "pull_request"), (HEAD, "push")])
def test_a_run_of_another_head_or_event_approves_nothing(host, tmp_path, head, event):
    host.run(RUN, head=head, event=event)
    seen_by(host, RUN)

    failed = find(tmp_path)

    assert failed.exit_code == 2 and codes(failed.stderr.splitlines()[:1]) == ["FT-REV-521"]


@pytest.mark.parametrize("stack", ["..", "a b", "staging"])
def test_a_stack_in_the_artifact_cannot_lead_to_another_folder(host, tmp_path, stack):
    host.artifacts[RUN, ARTIFACT] = archive({f"{'x' if stack == 'staging' else stack}/digest.json": digests(stack)})

    failed = find(tmp_path / "out")

    assert failed.exit_code == 2 and codes(failed.stderr.splitlines()[:1]) == ["FT-REV-516"]
    assert list(tmp_path.iterdir()) == []


def test_an_approval_ends_when_the_default_branch_moves_on(host, tmp_path):
    host.tips["main"] = OTHER_HEAD

    failed = find(tmp_path)

    assert failed.exit_code == 2 and codes(failed.stderr.splitlines()[:1]) == ["FT-REV-560"]
    assert list(tmp_path.iterdir()) == []


def test_an_approval_for_another_branch_is_none_for_the_default_branch(host, tmp_path):
    host.pulls[PULL]["base"] = {"sha": COMMIT, "ref": "theirs"}
    merge(host)

    assert codes(find(tmp_path).stderr.splitlines()[:1]) == ["FT-REV-520"]


def test_a_run_of_a_fork_does_not_approve_another_repository(host, tmp_path):
    host.run(RUN, owner="stranger")
    seen_by(host, RUN)

    assert codes(find(tmp_path).stderr.splitlines()[:1]) == ["FT-REV-521"]


def test_a_run_that_is_repeated_after_the_merge_approves_nothing(host, tmp_path):
    merge(host, when="2026-11-23T03:09:59Z")

    assert codes(find(tmp_path).stderr.splitlines()[:1]) == ["FT-REV-513"]


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
