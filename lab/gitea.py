"""Gitea as a process of the lab: its configuration, its daemon, its administrator."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from lab.errors import LabError
from lab.files import SECRET, write_file
from lab.host_key import HostKey
from lab.processes import LOOPBACK, Command, Daemon, base_environment, bring_up

ADMINISTRATOR = "lab-admin"

_TOKEN_NAME = "lab"
_TOKEN_SCOPES = ("write:repository", "read:organization", "read:user")
"""Git over HTTPS, deploy keys and webhooks of repositories, and what GitHub's clients look up beside them."""

_START_TIMEOUT = 60.0
_REQUEST_TIMEOUT = 30.0
_DATABASE_TIMEOUT = 20_000
"""Milliseconds that a write to the database waits for others."""
_DELIVERY_TIMEOUT = 3
"""Seconds that the receiver of a webhook has to answer."""

_SECRETS = ("SECRET_KEY", "INTERNAL_TOKEN", "JWT_SECRET")
"""What Gitea would otherwise make up and write into its configuration itself."""


@dataclass(frozen=True)
class Credentials:
    """Who logs in to the Git host."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Gitea:
    """One Gitea server on loopback.

    Attributes:
        folder: its part of the state.
        http_port: web and API, and Git over HTTP.
        ssh_port: Git over SSH, by Gitea's own server.
    """

    folder: Path
    http_port: int
    ssh_port: int

    @property
    def address(self) -> str:
        """URL of the server, without a slash at its end."""
        return f"http://{LOOPBACK}:{self.http_port}"

    @property
    def credentials_file(self) -> Path:
        """User name and password of the administrator, as JSON."""
        return self.folder / "credentials.json"

    @property
    def token_file(self) -> Path:
        """An API token of the administrator, written by ``up``."""
        return self.folder / "token"

    @property
    def host_key(self) -> HostKey:
        """The key of the SSH server."""
        return HostKey(self.folder / "ssh" / "host_ed25519", self.folder / "known_hosts", self.ssh_port)

    def daemon(self) -> Daemon:
        """The server's process, running or not."""
        return Daemon(
            name="gitea",
            log=self.folder / "logs" / "gitea.log",
            pid_file=self.folder / "run" / "gitea.pid",
            ports=(self.http_port, self.ssh_port),
            ready=self._is_healthy,
        )

    def up(self, program: Path) -> None:
        """Make the server run, with its administrator and the latter's token; what runs already is left alone.

        Args:
            program: Gitea's binary, which has Gitea's ``options``, ``public`` and ``templates`` beside it.

        Raises:
            LabError: a port is taken, the state cannot be written, or the server does not get ready.
        """
        if self.host_key.ensure():
            self.daemon().stop()
        self._configure(static=program.resolve().parent)
        command: Command = (
            str(program),
            "web",
            "--config",
            str(self._configuration),
            "--work-path",
            str(self.folder),
        )
        bring_up([{self.daemon(): command}], _START_TIMEOUT)
        self._ensure_administrator(program)
        self._ensure_token()

    def credentials(self) -> Credentials:
        """The administrator's credentials, made up at the first call.

        Raises:
            LabError: the file cannot be written.
        """
        found = _read_object(self.credentials_file)
        if not isinstance(found.get("password"), str) or found.get("username") != ADMINISTRATOR:
            found = {"username": ADMINISTRATOR, "password": secrets.token_urlsafe(24)}
            write_file(self.credentials_file, json.dumps(found, indent=2) + "\n", SECRET)
        return Credentials(found["username"], found["password"])

    def token(self) -> str:
        """The API token of the administrator.

        Raises:
            LabError: the server was never brought up.
        """
        try:
            return self.token_file.read_text().strip()
        except OSError as error:
            raise LabError(f"there is no token in {self.token_file}", "`make up` or `make start` makes it") from error

    def client(self) -> httpx.Client:
        """A client of the REST API, https://docs.gitea.com/api/, that acts as the administrator."""
        administrator = self.credentials()
        return self._client(auth=(administrator.username, administrator.password))

    def _client(self, **options: Any) -> httpx.Client:
        # The user's proxy settings are not for loopback.
        return httpx.Client(base_url=f"{self.address}/api/v1", trust_env=False, timeout=_REQUEST_TIMEOUT, **options)

    @property
    def _configuration(self) -> Path:
        return self.folder / "app.ini"

    def _is_healthy(self) -> bool:
        try:
            return httpx.get(f"{self.address}/api/healthz", trust_env=False, timeout=2).is_success
        except httpx.HTTPError:
            return False

    def _ensure_administrator(self, program: Path) -> None:
        """Create the user, or give it the recorded password again.

        Gitea takes a password only as an argument, which other users of the machine can see. So it
        makes up one of its own, and the recorded one is set through the API.
        """
        with self.client() as client:
            if client.get("/user").is_success:
                return
        user = ("--username", ADMINISTRATOR)
        if ADMINISTRATOR not in self._administer(program, "list").split():
            self._administer(
                program, "create", *user, "--email", f"{ADMINISTRATOR}@localhost.invalid",
                "--admin", "--random-password", "--must-change-password=false",
            )  # fmt: skip
        name = f"password-{secrets.token_hex(4)}"
        said = self._administer(
            program, "generate-access-token", *user, "--raw", "--token-name", name, "--scopes", "write:admin"
        )
        token = said.split()[-1]  # warnings come first
        with self._client(headers={"Authorization": f"token {token}"}) as client:
            change = {"source_id": 0, "login_name": ADMINISTRATOR, "password": self.credentials().password}
            client.patch(f"/admin/users/{ADMINISTRATOR}", json=change).raise_for_status()
        with self.client() as client:
            client.delete(f"/users/{ADMINISTRATOR}/tokens/{name}").raise_for_status()

    def _ensure_token(self) -> None:
        """Make the token, unless there is one that works; Gitea shows a token once and keeps its hash only."""
        if self.token_file.exists():
            with self._client(headers={"Authorization": f"token {self.token()}"}) as client:
                if client.get("/user").is_success:
                    return
        tokens = f"/users/{ADMINISTRATOR}/tokens"
        with self.client() as client:
            client.delete(f"{tokens}/{_TOKEN_NAME}")  # one of an earlier state of the file
            new = {"name": _TOKEN_NAME, "scopes": _TOKEN_SCOPES}
            made = client.post(tokens, json=new).raise_for_status().json()
        write_file(self.token_file, made["sha1"] + "\n", SECRET)

    def _configure(self, static: Path) -> None:
        """Write the configuration; a server that has read another one is stopped, to be started anew."""
        text = _ini(self._settings(static))
        if not self._configuration.exists() or self._configuration.read_text() != text:
            self.daemon().stop()
            write_file(self._configuration, text, SECRET)

    def _administer(self, program: Path, *arguments: str) -> str:
        """Run ``gitea admin user …``; its output may hold secrets and is shown to nobody."""
        command = (str(program), "--config", str(self._configuration), "admin", "user", *arguments)
        done = subprocess.run(command, env=base_environment(), capture_output=True, text=True)
        if done.returncode != 0:
            raise LabError(
                f"`gitea admin user {arguments[0]}` failed: {done.stderr.strip()}",
                f"look into {self.daemon().log}; `make down` begins anew",
            )
        return done.stdout

    def _settings(self, static: Path) -> Mapping[str, Mapping[str, object]]:
        """The configuration, https://docs.gitea.com/administration/config-cheat-sheet, by section."""
        secret = self._secrets()
        return {
            "": {
                "APP_NAME": "Flux tenancy lab",
                "RUN_MODE": "prod",
                "WORK_PATH": self.folder,
                # The lab runs as whoever calls it. In a container or a CI job that is often root.
                "I_AM_BEING_UNSAFE_RUNNING_AS_ROOT": True,
            },
            "server": {
                "PROTOCOL": "http",
                "HTTP_ADDR": LOOPBACK,
                "HTTP_PORT": self.http_port,
                "DOMAIN": LOOPBACK,
                "ROOT_URL": f"{self.address}/",
                "STATIC_ROOT_PATH": static,
                "APP_DATA_PATH": self.folder / "data",
                "START_SSH_SERVER": True,
                "SSH_LISTEN_HOST": LOOPBACK,
                "SSH_LISTEN_PORT": self.ssh_port,
                "SSH_DOMAIN": LOOPBACK,
                "SSH_PORT": self.ssh_port,
                "BUILTIN_SSH_SERVER_USER": "git",
                "SSH_ROOT_PATH": self.folder / "ssh",
                "SSH_SERVER_HOST_KEYS": self.host_key.file,
                "OFFLINE_MODE": True,
                "LFS_START_SERVER": False,
            },
            "database": {
                "DB_TYPE": "sqlite3",
                "PATH": self.folder / "gitea.db",
                "SQLITE_JOURNAL_MODE": "WAL",
                # A write waits for another one; the half second of the default is short on a busy machine.
                "SQLITE_TIMEOUT": _DATABASE_TIMEOUT,
            },
            "repository": {"ROOT": self.folder / "repositories", "DEFAULT_BRANCH": "main"},
            "security": {
                "INSTALL_LOCK": True,
                "SECRET_KEY": secret["SECRET_KEY"],
                "INTERNAL_TOKEN": secret["INTERNAL_TOKEN"],
            },
            "service": {"DISABLE_REGISTRATION": True},
            "oauth2": {"ENABLED": False, "JWT_SECRET": secret["JWT_SECRET"]},
            "openid": {"ENABLE_OPENID_SIGNIN": False, "ENABLE_OPENID_SIGNUP": False},
            "cron.update_checker": {"ENABLED": False},
            "actions": {"ENABLED": False},
            "packages": {"ENABLED": True},
            "indexer": {"ISSUE_INDEXER_TYPE": "db"},
            # To clusters on this machine, and to nowhere else. A receiver that does not answer at once is not there.
            "webhook": {"ALLOWED_HOST_LIST": "loopback", "DELIVER_TIMEOUT": _DELIVERY_TIMEOUT},
            "log": {"MODE": "console", "LEVEL": "Warn"},
        }

    def _secrets(self) -> dict[str, str]:
        """Secrets that the server's data depends on, made once."""
        path = self.folder / "secrets.json"
        found = _read_object(path)
        if not all(isinstance(found.get(name), str) for name in _SECRETS):
            found = {name: secrets.token_urlsafe(32) for name in _SECRETS}
            write_file(path, json.dumps(found), SECRET)
        return found


def _read_object(path: Path) -> dict[str, Any]:
    """A JSON object; empty if the file is missing or damaged."""
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _ini(sections: Mapping[str, Mapping[str, object]]) -> str:
    """Gitea's format; the standard library's does not know entries outside all sections."""
    lines: list[str] = []
    for section, entries in sections.items():
        if section:
            lines.append(f"\n[{section}]")
        lines += [
            f"{name} = {str(value).lower() if isinstance(value, bool) else value}" for name, value in entries.items()
        ]
    return "\n".join(lines) + "\n"
