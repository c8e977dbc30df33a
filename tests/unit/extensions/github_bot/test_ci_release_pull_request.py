"""The pull request of a release update: the changed stack files in one commit on the default branch."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from flux_tenancy.command.app import app
from flux_tenancy.extensions.github_bot.release_pull_request import BRANCH
from tests.support.fake_github import HEAD, OTHER_HEAD, REPOSITORY, FakeGitHub


def commit(folder: Path) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    for command in (["add", "."], [*author, "commit", "--quiet", "--message=a"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A clone in which the release of one of two stacks has been updated."""
    folder: Path = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: platform\nruntime: python\n")
    for name in ("Pulumi.staging.yaml", "Pulumi.production.yaml", "README.md"):
        (folder / name).write_text("version: 2.9.4\n")
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    commit(folder)
    for name in ("Pulumi.staging.yaml", "README.md"):
        (folder / name).write_text("version: 2.9.5\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def host(host: FakeGitHub) -> FakeGitHub:
    url = f"{host.url}/repos/{REPOSITORY}/git"
    host.content |= {
        "/branches/main": {"name": "main", "commit": {"sha": HEAD}},
        f"/git/commits/{HEAD}": {"sha": HEAD, "url": f"{url}/commits/{HEAD}", "tree": {"sha": "e" * 40}},
        "/git/trees": {"sha": "d" * 40, "url": f"{url}/trees/{'d' * 40}"},
        "/git/commits": {"sha": OTHER_HEAD, "url": f"{url}/commits/{OTHER_HEAD}"},
        "/git/refs": {"ref": f"refs/heads/{BRANCH}", "url": f"{url}/refs/heads/{BRANCH}"},
    }
    return host


def propose(tmp_path: Path) -> Result:
    summary = tmp_path / "releases.md"
    summary.write_text("Flux 2.9.5, see [changelog](https://github.com/fluxcd/flux2/releases/tag/v2.9.5)\n")
    return CliRunner().invoke(app, ["ci", "release-pull-request", "--body-file", str(summary)])


def test_changed_stack_files_become_a_pull_request(host, project, tmp_path):
    done = propose(tmp_path)

    assert done.exit_code == 0 and done.stdout.startswith("Opened:")
    assert host.writes == ["POST /git/trees", "POST /git/commits", "POST /git/refs", "POST /pulls"]
    tree, commit, ref, pull = host.sent
    [element] = tree["tree"]
    assert (element["path"], element["content"]) == ("Pulumi.staging.yaml", "version: 2.9.5\n")
    assert (tree["base_tree"], commit["parents"], ref["ref"]) == ("e" * 40, [HEAD], f"refs/heads/{BRANCH}")
    assert (pull["base"], pull["head"]) == ("main", BRANCH)
    assert "releases/tag/v2.9.5" in pull["body"]


@pytest.mark.parametrize("stacks", [".", "stacks"])
def test_paths_are_those_of_the_repository(host, project, tmp_path, monkeypatch, stacks):
    """The project may be a folder of the repository, and its stacks' files in a folder of the project."""
    folder = project / "platform"
    (folder / stacks).mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text(f"name: platform\nruntime: python\nstackConfigDir: {stacks}\n")
    file = folder / stacks / "Pulumi.eu.yaml"
    file.write_text("version: 2.9.4\n")
    commit(project)
    file.write_text("version: 2.9.5\n")
    monkeypatch.chdir(folder)

    assert propose(tmp_path).exit_code == 0

    [element] = host.sent[0]["tree"]
    assert (element["path"], element["content"]) == (file.relative_to(project).as_posix(), "version: 2.9.5\n")


def test_a_deleted_file_is_left_out_and_line_ends_stay(host, project, tmp_path):
    (project / "Pulumi.production.yaml").unlink()
    (project / "Pulumi.staging.yaml").write_bytes(b"version: 2.9.5\r\n")

    assert propose(tmp_path).exit_code == 0
    [element] = host.sent[0]["tree"]
    assert (element["path"], element["content"]) == ("Pulumi.staging.yaml", "version: 2.9.5\r\n")


def test_the_next_week_updates_the_same_pull_request(host, project, tmp_path):
    url = f"{host.url}/repos/{REPOSITORY}/git/refs/heads/{BRANCH}"
    for path in ("/git/ref/heads/", "/git/refs/heads/"):
        host.content[f"{path}{BRANCH}"] = {"ref": f"refs/heads/{BRANCH}", "url": url}
    host.pull(9, branch=BRANCH)

    done = propose(tmp_path)

    assert done.stdout.startswith("Updated:")
    assert host.writes[-2:] == [f"PATCH /git/refs/heads/{BRANCH}", "PATCH /pulls/9"]
    assert host.sent[-2] == {"sha": OTHER_HEAD, "force": True}


def test_without_a_changed_stack_file_nothing_is_written(host, project, tmp_path):
    (project / "Pulumi.staging.yaml").write_text("version: 2.9.4\n")

    assert propose(tmp_path).exit_code == 0
    assert host.writes == []


def test_a_workflow_that_may_open_no_pull_request_pushes_the_branch_and_says_so(host, project, tmp_path, monkeypatch):
    answer = FakeGitHub.answer

    def refused(self, method, path, query, sent):
        if (method, path) == ("POST", "/pulls"):
            return 403, {"message": "GitHub Actions is not permitted to create or approve pull requests."}
        return answer(self, method, path, query, sent)

    monkeypatch.setattr(FakeGitHub, "answer", refused)

    done = propose(tmp_path)

    assert done.exit_code == 0 and done.stdout.startswith(f"Pushed: branch {BRANCH}")
    assert "POST /git/refs" in host.writes
