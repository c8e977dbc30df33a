"""Gitea as a process of the lab: its configuration, its process, its administrator."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from dev.lab.errors import LabError
from dev.lab.files import SECRET, write_file
from dev.lab.host_key import HostKey
from dev.lab.probe import probe
from dev.lab.processes import LOOPBACK, Command, Daemon, base_environment, bring_up

ADMINISTRATOR = "lab-admin"

_TOKEN_NAME = "lab"
_TOKEN_SCOPES = ("write:repository", "read:organization", "read:user")
"""Git over HTTPS, deploy keys and webhooks of repositories, and what GitHub's clients read in addition."""

_START_TIMEOUT = 60.0
_REQUEST_TIMEOUT = 30.0
_DATABASE_TIMEOUT = 20_000
"""Milliseconds that a write to the database waits for other writes."""
_DELIVERY_TIMEOUT = 3
"""Seconds within which the receiver of a webhook has to answer."""

_SECRETS = ("SECRET_KEY", "INTERNAL_TOKEN", "JWT_SECRET")
"""Secrets that Gitea would otherwise generate and write into its configuration itself."""


@dataclass(frozen=True)
class Credentials:
    """Credentials of a user of the Git host."""

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
        """URL of the server, without a trailing slash."""
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
            ready=lambda: probe(f"{self.address}/api/healthz"),
        )

    def up(self, program: Path) -> None:
        """Start the server if it is not running, and create its administrator and the administrator's token.

        Args:
            program: Gitea's binary, with Gitea's ``options``, ``public`` and ``templates`` in the same folder.

        Raises:
            LabError: a port is in use, the state cannot be written, or the server does not get ready.
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
        """The administrator's credentials, generated at the first call.

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
            LabError: the server was never started.
        """
        try:
            return self.token_file.read_text().strip()
        except OSError as error:
            raise LabError(f"there is no token in {self.token_file}", "`make up` or `make start` creates it") from error

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

    def _ensure_administrator(self, program: Path) -> None:
        """Create the user, or set its password to the recorded one.

        Gitea's command takes a password only as an argument, which other users of the machine can see. So it
        generates one, and the recorded one is set through the API.
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
        output = self._administer(
            program, "generate-access-token", *user, "--raw", "--token-name", name, "--scopes", "write:admin"
        )
        token = token_in(output)
        with self._client(headers={"Authorization": f"token {token}"}) as client:
            change = {"source_id": 0, "login_name": ADMINISTRATOR, "password": self.credentials().password}
            client.patch(f"/admin/users/{ADMINISTRATOR}", json=change).raise_for_status()
        with self.client() as client:
            client.delete(f"/users/{ADMINISTRATOR}/tokens/{name}").raise_for_status()

    def _ensure_token(self) -> None:
        """Create a token unless the file has a valid one; Gitea shows a token once and keeps only its hash."""
        if self.token_file.exists():
            with self._client(headers={"Authorization": f"token {self.token()}"}) as client:
                if client.get("/user").is_success:
                    return
        tokens = f"/users/{ADMINISTRATOR}/tokens"
        with self.client() as client:
            client.delete(f"{tokens}/{_TOKEN_NAME}")  # from an earlier state of the file
            new = {"name": _TOKEN_NAME, "scopes": _TOKEN_SCOPES}
            made = client.post(tokens, json=new).raise_for_status().json()
        write_file(self.token_file, made["sha1"] + "\n", SECRET)

    def _configure(self, static: Path) -> None:
        """Write the configuration; if it changes, the server is stopped, so that the next start reads it."""
        text = _ini(self._settings(static))
        if not self._configuration.exists() or self._configuration.read_text() != text:
            self.daemon().stop()
            write_file(self._configuration, text, SECRET)

    def _administer(self, program: Path, *arguments: str) -> str:
        """Run ``gitea admin user …``; its output may contain secrets and must not be shown."""
        command = (str(program), "--config", str(self._configuration), "admin", "user", *arguments)
        done = subprocess.run(command, env=base_environment(), capture_output=True, text=True)
        if done.returncode != 0:
            raise LabError(
                f"`gitea admin user {arguments[0]}` failed: {done.stderr.strip()}",
                f"see {self.daemon().log}; after `make down` the next `make up` starts from scratch",
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
                # The lab runs as its user, who is often root in a container or a CI job.
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
                # The default of half a second is too short on a busy machine.
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
            # Only to clusters on this machine. A receiver that does not answer immediately does not exist.
            "webhook": {"ALLOWED_HOST_LIST": "loopback", "DELIVER_TIMEOUT": _DELIVERY_TIMEOUT},
            "log": {"MODE": "console", "LEVEL": "Warn"},
        }

    def _secrets(self) -> dict[str, str]:
        """Secrets that the server's data depends on, generated once."""
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


def token_in(output: str) -> str:
    """The token that Gitea's command has printed, before or after its warnings: another thread writes those.

    Raises:
        LabError: there is none.
    """
    if not (found := re.search(r"^[0-9a-f]{40}$", output, re.MULTILINE)):
        raise LabError("`gitea admin user generate-access-token` printed no token", "run `make down`, and start again")
    return found.group()


def _ini(sections: Mapping[str, Mapping[str, object]]) -> str:
    """Gitea's format; configparser writes no entries outside sections."""
    lines: list[str] = []
    for section, entries in sections.items():
        if section:
            lines.append(f"\n[{section}]")
        lines += [
            f"{name} = {str(value).lower() if isinstance(value, bool) else value}" for name, value in entries.items()
        ]
    return "\n".join(lines) + "\n"
