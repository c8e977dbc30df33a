"""git with the settings of `make env`, for a user without settings of their own."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from dev.lab.git_host import GitHost
from dev.lab.git_settings import git_variables
from dev.lab.settings import Settings

PASSWORD = "pass-word"
ELSEWHERE = "https://git.example.com/team/apps.git"


@pytest.fixture
def host(tmp_path) -> GitHost:
    host = GitHost(Settings(tmp_path, tmp_path, tmp_path / "state of mine", 20800))
    host.gitea.credentials_file.parent.mkdir(parents=True)
    host.gitea.credentials_file.write_text(json.dumps({"username": "lab-admin", "password": PASSWORD}))
    return host


@pytest.fixture
def user(tmp_path) -> dict[str, str]:
    """The environment on a new machine."""
    (tmp_path / "home").mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "GIT_TERMINAL_PROMPT": "0"}


def git(environ: dict[str, str], *arguments: str, folder: Path | None = None, stdin: str = "") -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environ, input=stdin, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def credentials(environ: dict[str, str], url: str) -> list[str]:
    """The credentials that git uses."""
    lines = git(environ, "credential", "fill", stdin=f"url={url}\n\n").splitlines()
    return [line for line in lines if line.startswith(("username=", "password="))]


def committer(environ: dict[str, str], folder: Path, url: str) -> str:
    """The author of git's commits in a clone of a repository."""
    folder.mkdir()
    git(environ, "init", "--quiet", folder=folder)
    git(environ, "remote", "add", "origin", url, folder=folder)
    return git(environ, "config", "user.email", folder=folder)


def addresses(host: GitHost) -> list[str]:
    return [host.url("dev-team", "apps"), host.https_url("dev-team", "apps"), f"{host.github_url}dev-team/apps.git"]


def test_git_logs_in_at_the_labs_host_only(host, user):
    environ = user | git_variables(host, user)

    for url in addresses(host):
        assert credentials(environ, url) == ["username=lab-admin", f"password={PASSWORD}"]
    assert credentials(environ, ELSEWHERE) == []
    assert credentials(environ, "http://127.0.0.1:9999/dev-team/apps.git") == []


def test_the_password_is_in_no_variable_and_no_other_file(host, user):
    environ = user | git_variables(host, user)
    # The user's own helper would store the password.
    git(environ, "config", "--global", "credential.helper", "store")

    git(
        environ, "credential", "approve", stdin=f"url={addresses(host)[0]}\nusername=lab-admin\npassword={PASSWORD}\n\n"
    )

    assert not any(PASSWORD in value for value in environ.values())
    assert not Path(user["HOME"], ".git-credentials").exists()


def test_git_has_a_user_name_in_clones_from_the_labs_host_only(host, user, tmp_path):
    environ = user | git_variables(host, user)

    for number, url in enumerate(addresses(host)):
        assert committer(environ, tmp_path / str(number), url) == "lab@localhost.invalid"
    assert committer(environ, tmp_path / "elsewhere", ELSEWHERE) == ""


def test_a_user_name_that_is_configured_in_git_is_used(host, user, tmp_path):
    git(user, "config", "--global", "user.email", "me@example.com")

    environ = user | git_variables(host, user)

    assert committer(environ, tmp_path / "clone", addresses(host)[0]) == "me@example.com"
