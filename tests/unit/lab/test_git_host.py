"""The Git host without Gitea: its configuration, and real git on folders behind a stand-in of the API."""

import configparser
import json
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives import serialization

from dev.lab.errors import LabError
from dev.lab.git import Git
from dev.lab.git_host import GitHost
from dev.lab.gitea import Gitea, token_in
from dev.lab.github_proxy import GithubProxy
from dev.lab.settings import Settings

PASSWORD = "correct horse battery staple"
TOOLS = {"gitea": Path("gitea"), "github-proxy": Path("github-proxy")}


class Api:
    """Stands in for Gitea's REST API: with organizations, and with repositories as bare folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.organizations: dict[str, str] = {}
        self.private: dict[str, bool] = {}
        self.changes: list[str] = []

    def repository(self, path: str) -> Path:
        return self.folder / f"{path}.git"

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v1")
        if request.method == "POST":
            self.changes.append(path)
            return self.create(path, json.loads(request.content))
        if path.startswith("/orgs/"):
            return httpx.Response(200 if path.removeprefix("/orgs/") in self.organizations else 404)
        repository = self.repository(path.removeprefix("/repos/"))
        if not repository.exists():
            return httpx.Response(404)
        return httpx.Response(200, json={"empty": self.is_empty(repository)})

    def is_empty(self, repository: Path) -> bool:
        return not commits(repository)

    def create(self, path: str, body: dict[str, Any]) -> httpx.Response:
        if path == "/orgs":
            self.organizations[body["username"]] = body["visibility"]
        else:
            organization = path.split("/")[2]
            assert organization in self.organizations
            self.private[f"{organization}/{body['name']}"] = body["private"]
            repository = self.repository(f"{organization}/{body['name']}")
            subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", repository], check=True)
        return httpx.Response(201)


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def commits(repository: Path) -> list[str]:
    return git(repository, "rev-list", "--all").split()


def content(repository: Path, name: str) -> str:
    return git(repository, "show", f"main:{name}")


@pytest.fixture
def api(tmp_path) -> Api:
    return Api(tmp_path / "repositories")


@pytest.fixture
def host(tmp_path, monkeypatch, api) -> GitHost:
    sample = tmp_path / "project" / "dev" / "lab" / "sample" / "dev" / "apps"
    (sample / "staging").mkdir(parents=True)
    (sample / "staging" / "welcome.yaml").write_text("hello: staging\n")
    monkeypatch.setattr(Gitea, "up", lambda self, program: None)
    monkeypatch.setattr(GithubProxy, "up", lambda self, program: None)
    monkeypatch.setattr(
        Gitea,
        "client",
        lambda self: httpx.Client(base_url="http://host/api/v1", transport=httpx.MockTransport(api)),
    )
    monkeypatch.setattr(GitHost, "url", lambda self, organization, name: str(api.repository(f"{organization}/{name}")))
    return GitHost(Settings(tmp_path / "project", tmp_path / "cache", tmp_path / "state", 20800))


class Registered:
    """Stands in for the part of Gitea's API that shows and deletes deploy keys and webhooks, in pages of 50."""

    def __init__(self, entries: dict[str, list[dict[str, Any]]]) -> None:
        self.entries = entries
        self.deleted: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v1")
        if request.method == "DELETE":
            self.deleted.append(path)
            return httpx.Response(204)
        begin = (int(request.url.params["page"]) - 1) * int(request.url.params["limit"])
        if path == "/repos/search":
            names = sorted({"/".join(name.split("/")[2:4]) for name in self.entries})
            return httpx.Response(200, json={"data": [{"full_name": name} for name in names[begin : begin + 50]]})
        return httpx.Response(200, json=self.entries.get(path, [])[begin : begin + 50])


@pytest.fixture
def registered(monkeypatch) -> Registered:
    def key(number: int, stack: str) -> dict[str, Any]:
        return {"id": number, "title": f"flux-tenancy {stack}/dev SHA256:{number} (0123abcd)"}

    def hook(number: int, port: int) -> dict[str, Any]:
        return {"id": number, "config": {"url": f"http://127.0.0.1:{port}/hook/{number}"}}

    others = [key(number, "production") for number in range(100, 160)]
    api = Registered(
        {
            "/repos/dev/apps/keys": [*others, key(1, "staging"), key(2, "staging2"), {"id": 3, "title": "mine"}],
            "/repos/dev/apps/hooks": [hook(4, 20816), hook(5, 20826), hook(6, 2081)],
            "/repos/ops/tools/keys": [key(7, "staging")],
        }
    )
    transport = httpx.MockTransport(api)
    monkeypatch.setattr(Gitea, "client", lambda self: httpx.Client(base_url="http://host/api/v1", transport=transport))
    return api


def test_only_what_a_removed_stack_has_registered_is_withdrawn(host, registered):
    host.withdraw("staging", "http://127.0.0.1:20816")
    assert registered.deleted == []  # The host was never started.
    host.gitea.credentials()

    host.withdraw("staging", "http://127.0.0.1:20816")

    assert registered.deleted == ["/repos/dev/apps/keys/1", "/repos/dev/apps/hooks/4", "/repos/ops/tools/keys/7"]


def test_withdrawing_from_a_stopped_host_is_an_error_with_a_remedy(host, monkeypatch):
    host.gitea.credentials()
    monkeypatch.setattr(Gitea, "client", lambda self: httpx.Client(base_url="http://127.0.0.1:9/api/v1"))

    with pytest.raises(LabError) as error:
        host.withdraw("staging", "http://127.0.0.1:20816")

    assert "cannot remove the deploy keys and webhooks of staging" in error.value.message
    assert "make start STACK=staging" in error.value.remedy


def test_a_second_up_keeps_the_users_commits(host, api):
    host.up(TOOLS)
    pushed = host.commit_files("dev", "apps", {"staging/welcome.yaml": "mine: true\n"}, "Mine")
    api.changes.clear()

    host.up(TOOLS)

    assert api.changes == []
    assert commits(api.repository("dev/apps"))[0] == pushed


def test_a_refused_request_is_an_error_that_names_the_log(host, api, monkeypatch):
    monkeypatch.setattr(api, "create", lambda path, body: httpx.Response(403))

    with pytest.raises(LabError) as error:
        host.up(TOOLS)

    assert "403" in error.value.message
    assert str(host.gitea.daemon().log) in error.value.remedy


def test_the_password_is_in_gits_environment_only_and_the_users_settings_are_ignored(tmp_path, monkeypatch):
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Somebody\n[http]\n\tproxy = http://proxy.example\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    user = Git("lab", PASSWORD)
    user.run(tmp_path, "init", "--quiet")

    asked = subprocess.run(
        ["git", "credential", "fill"], input="protocol=http\nhost=127.0.0.1\n\n", text=True,
        capture_output=True, check=True, cwd=tmp_path, env=dict(user._environment()),
    )  # fmt: skip

    assert "username=lab" in asked.stdout.split("\n")
    assert f"password={PASSWORD}" in asked.stdout.split("\n")
    settings = user.run(tmp_path, "config", "--list")
    assert not any(each in settings for each in (PASSWORD, "Somebody", "proxy.example"))
    assert PASSWORD not in repr(user)


@pytest.fixture
def gitea(tmp_path) -> Gitea:
    return Gitea(tmp_path / "git-host", 20800, 20801)


def configuration(gitea: Gitea) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string("[top]\n" + (gitea.folder / "app.ini").read_text())
    return parser


def test_gitea_allows_no_registration_and_stays_on_this_machine_and_its_secrets_are_generated_once(gitea):
    gitea._configure(static=Path("/assets"))
    first = (gitea.folder / "app.ini").read_text()

    gitea._configure(static=Path("/assets"))

    assert (gitea.folder / "app.ini").read_text() == first
    ini = configuration(gitea)
    assert ini["service"]["disable_registration"] == "true"
    assert ini["security"]["install_lock"] == "true"
    assert ini["server"]["http_addr"] == ini["server"]["ssh_listen_host"] == "127.0.0.1"
    assert (ini["server"]["http_port"], ini["server"]["ssh_listen_port"]) == ("20800", "20801")
    assert ini["server"]["offline_mode"] == "true"
    assert ini["cron.update_checker"]["enabled"] == "false"
    assert ini["server"]["static_root_path"] == "/assets"
    assert ini["webhook"]["allowed_host_list"] == "loopback"
    assert len(ini["security"]["secret_key"]) > 30
    for name in ("app.ini", "secrets.json"):
        assert stat.S_IMODE((gitea.folder / name).stat().st_mode) == 0o600


def test_the_administrators_password_is_generated_once_and_only_for_its_owner(gitea):
    first = gitea.credentials()

    assert gitea.credentials() == first
    assert len(first.password) > 20
    assert first.password not in repr(first)
    assert json.loads(gitea.credentials_file.read_text())["password"] == first.password
    assert stat.S_IMODE(gitea.credentials_file.stat().st_mode) == 0o600


def test_the_host_key_is_generated_once_and_pinned_for_clients(gitea):
    assert gitea.host_key.ensure()
    pinned, private = gitea.host_key.known_hosts.read_text(), gitea.host_key.file.read_text()

    assert not gitea.host_key.ensure()

    assert gitea.host_key.known_hosts.read_text() == pinned
    assert gitea.host_key.file.read_text() == private
    assert re.fullmatch(r"\[127\.0\.0\.1\]:20801 ssh-ed25519 \S+\n", pinned)
    key = serialization.load_ssh_private_key(private.encode(), password=None).public_key()
    assert key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode() in pinned
    assert stat.S_IMODE(gitea.host_key.file.stat().st_mode) == 0o600
    gitea._configure(static=Path("/assets"))
    assert configuration(gitea)["server"]["ssh_server_host_keys"] == str(gitea.host_key.file)


WARNING = "2026/11/23 16:50:55 setting.go:190 [E] You have been warned against this.\n"


@pytest.mark.parametrize(("before", "after"), [("", ""), (WARNING, ""), ("", WARNING), (WARNING, WARNING)])
def test_a_new_token_is_found_among_warnings(before, after):
    token = "0a" * 20

    assert token_in(f"{before}{token}\n{after}") == token


def test_a_command_that_prints_no_token_is_an_error():
    with pytest.raises(LabError, match="printed no token"):
        token_in(WARNING)
