"""The lab's Git host: Gitea with the sample repositories, with its own API and GitHub's."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from dev.lab.errors import LabError
from dev.lab.files import check_room, locked
from dev.lab.git import Git
from dev.lab.gitea import Gitea
from dev.lab.github_proxy import GithubProxy
from dev.lab.processes import LOOPBACK, Daemon, stop_all
from dev.lab.settings import Settings

BRANCH = "main"
"""Branch of the sample repositories."""

_KEY_TITLE = "flux-tenancy {stack}/"
"""Beginning of the titles of a stack's deploy keys, as set by `flux_tenancy/components/git/github.py`."""

_PAGE = 50
"""Entries of a page of Gitea's API, which is its maximum."""

_SAMPLE_DATE = "2026-01-01T00:00:00Z"


class GitHost:
    """The Git host of the lab; creating the object starts nothing.

    Attributes:
        gitea: the server.
        proxy: adds GitHub's API.
    """

    def __init__(self, settings: Settings) -> None:
        self.gitea = Gitea(settings.state / "git-host", settings.port_base, settings.port_base + 1)
        self.proxy = GithubProxy(self.gitea.folder, self.gitea.address, settings.port_base + 2, settings.port_base + 3)
        self._settings = settings

    def daemons(self) -> list[Daemon]:
        """The host's processes, running or not, in the order of their start."""
        return [self.gitea.daemon(), self.proxy.daemon()]

    def up(self, tools: Mapping[str, Path]) -> None:
        """Start the host if it is not running, and create missing sample repositories.

        Args:
            tools: path of each tool by its name, including Gitea (with its assets in the same folder) and the proxy.

        Raises:
            LabError: a server does not get ready, or a request to it fails.
        """
        if not self.gitea.credentials_file.exists():
            check_room(self._settings.state)
        with locked(self._settings.state / "lock"):
            try:
                self.gitea.up(tools["gitea"])
                self.proxy.up(tools["github-proxy"])
                for source in self._samples():
                    self.ensure_repository(source.parent.name, source.name, source)
            except httpx.HTTPError as error:
                raise LabError(
                    f"a request to the Git host at {self.gitea.address} failed: {error}",
                    f"see {self.gitea.daemon().log}; after `make down` the next `make up` starts from scratch",
                ) from error

    def stop(self) -> None:
        """Stop the servers; the repositories stay."""
        with locked(self._settings.state / "lock"):
            stop_all(self.daemons())

    @property
    def github_url(self) -> str:
        """Base URL for clients of GitHub Enterprise, such as Pulumi's GitHub provider."""
        return f"{self.proxy.address}/"

    @property
    def certificate_authority(self) -> Path:
        """PEM file of the authority that signed the certificate of ``https_url``."""
        return self.proxy.certificate_authority

    @property
    def known_hosts(self) -> Path:
        """OpenSSH known_hosts file with the host key of ``ssh_url``."""
        return self.gitea.host_key.known_hosts

    @property
    def token_file(self) -> Path:
        """File with ``token``; missing until the first ``up``."""
        return self.gitea.token_file

    def token(self) -> str:
        """An API token of the administrator, for all repositories, their deploy keys and their webhooks.

        Raises:
            LabError: the host was never started.
        """
        return self.gitea.token()

    def url(self, organization: str, repository: str) -> str:
        """URL of a repository for Git over plain HTTP, without credentials."""
        return f"{self.gitea.address}/{organization}/{repository}.git"

    def https_url(self, organization: str, repository: str) -> str:
        """URL of a repository for Git over HTTPS, without credentials."""
        return f"{self.proxy.secure_address}/{organization}/{repository}.git"

    def ssh_url(self, organization: str, repository: str) -> str:
        """URL of a repository for Git over SSH."""
        return f"ssh://git@{LOOPBACK}:{self.gitea.ssh_port}/{organization}/{repository}.git"

    def deploy_keys(self, organization: str, repository: str) -> list[dict[str, Any]]:
        """The deploy keys of a repository, https://docs.github.com/rest/deploy-keys/deploy-keys.

        Raises:
            httpx.HTTPError: the host is not running, or there is no such repository.
        """
        return self._github(f"/repos/{organization}/{repository}/keys")

    def webhooks(self, organization: str, repository: str) -> list[dict[str, Any]]:
        """The webhooks of a repository, https://docs.github.com/rest/repos/webhooks; secrets are not shown.

        Raises:
            httpx.HTTPError: the host is not running, or there is no such repository.
        """
        return self._github(f"/repos/{organization}/{repository}/hooks")

    def withdraw(self, stack: str, webhook_url: str) -> None:
        """Remove the deploy keys and webhooks of a stack whose state is about to be deleted.

        Only the stack's state knows them, and the host refuses a key that it already has.

        Args:
            stack: name of the stack.
            webhook_url: prefix of the URLs of its webhooks.

        Raises:
            LabError: the host is not running, or refuses it.
        """
        if not self.gitea.credentials_file.exists():
            return
        try:
            with self.gitea.client() as api:
                for repository in list(_all(api, "/repos/search")):
                    path = f"/repos/{repository['full_name']}"
                    keys = [key for key in _all(api, f"{path}/keys") if key["title"].startswith(_key_title(stack))]
                    hooks = [hook for hook in _all(api, f"{path}/hooks") if _leads_to(hook, webhook_url)]
                    for entry in (*(f"keys/{key['id']}" for key in keys), *(f"hooks/{hook['id']}" for hook in hooks)):
                        api.delete(f"{path}/{entry}").raise_for_status()
        except httpx.HTTPError as error:
            raise LabError(
                f"cannot remove the deploy keys and webhooks of {stack} at {self.gitea.address}: {error}",
                f"`make start STACK={stack}` starts the Git host; `make down` without STACK deletes the whole lab",
            ) from error

    def clone(self, organization: str, repository: str, destination: Path) -> Path:
        """Clone a repository into a new folder, ready for ``push``.

        Raises:
            LabError: there is no such repository, or the host is not running.
        """
        destination.parent.mkdir(parents=True, exist_ok=True)
        self._git().run(destination.parent, "clone", "--quiet", self.url(organization, repository), str(destination))
        return destination

    def push(self, folder: Path) -> str:
        """Push the commits of a clone to the branch that is checked out.

        Returns:
            The new commit of the branch.

        Raises:
            LabError: the host refuses the push, for example because the branch has new commits.
        """
        git = self._git()
        git.run(folder, "push", "--quiet", "origin", "HEAD")
        return git.run(folder, "rev-parse", "HEAD")

    def commit_files(self, organization: str, repository: str, files: Mapping[str, str | None], message: str) -> str:
        """Write files of a repository, or remove them (None), and push the change as one commit.

        Args:
            files: new content by path inside the repository.
            message: the commit's message.

        Returns:
            The commit.

        Raises:
            LabError: the host is not running, or refuses the push.
        """
        with tempfile.TemporaryDirectory() as temporary:
            folder = self.clone(organization, repository, Path(temporary) / repository)
            for name, content in files.items():
                path = folder / name
                if content is None:
                    path.unlink()
                else:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(content)
            self._commit_all(folder, message)
            return self.push(folder)

    def _samples(self) -> Iterator[Path]:
        """The folders ``dev/lab/sample/<organization>/<repository>``."""
        return (
            path for path in sorted((self._settings.project / "dev" / "lab" / "sample").glob("*/*")) if path.is_dir()
        )

    def ensure_repository(self, organization: str, repository: str, source: Path, private: bool = True) -> None:
        """Create a repository with a first commit, unless it already has one.

        Args:
            source: folder with the content of the first commit.
            private: whether reading it requires credentials. A new organization is as visible as its first
                repository, since a public repository in a private organization is not visible.

        Raises:
            httpx.HTTPError: the host is not running, or refuses it.
            LabError: git fails.
        """
        with self.gitea.client() as api:
            if not _exists(api, f"/orgs/{organization}"):
                new = {"username": organization, "visibility": "private" if private else "public"}
                api.post("/orgs", json=new).raise_for_status()
            path = f"/repos/{organization}/{repository}"
            if not _exists(api, path):
                created = {"name": repository, "default_branch": BRANCH, "private": private}
                api.post(f"/orgs/{organization}/repos", json=created).raise_for_status()
            # Also fill one that was left empty by a killed command.
            if api.get(path).raise_for_status().json()["empty"]:
                self._fill(organization, repository, source)

    def _github(self, path: str) -> list[dict[str, Any]]:
        """The response of GitHub's API to the administrator."""
        headers = {"Authorization": f"Bearer {self.token()}"}
        # The user's proxy settings are not for loopback.
        with httpx.Client(base_url=f"{self.github_url}api/v3", headers=headers, trust_env=False) as api:
            found: list[dict[str, Any]] = api.get(path).raise_for_status().json()
            return found

    def _fill(self, organization: str, repository: str, source: Path) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / repository
            shutil.copytree(source, folder)
            git = self._git()
            git.run(folder, "init", "--quiet", f"--initial-branch={BRANCH}")
            git.run(folder, "remote", "add", "origin", self.url(organization, repository))
            # Always the same commit, so that it matches one that was pushed by a killed command.
            self._commit_all(
                folder,
                "Add the first files",
                GIT_AUTHOR_DATE=_SAMPLE_DATE,
                GIT_COMMITTER_DATE=_SAMPLE_DATE,
            )
            self.push(folder)

    def _commit_all(self, folder: Path, message: str, **environment: str) -> None:
        git = self._git()
        git.run(folder, "add", "--all")
        git.run(folder, "commit", "--quiet", "--allow-empty", f"--message={message}", **environment)

    def _git(self) -> Git:
        administrator = self.gitea.credentials()
        return Git(administrator.username, administrator.password)


def _exists(api: httpx.Client, path: str) -> bool:
    response = api.get(path)
    if response.status_code == httpx.codes.NOT_FOUND:
        return False
    response.raise_for_status()
    return True


def _all(api: httpx.Client, path: str) -> Iterator[Any]:
    """All entries of a list of Gitea's API."""
    for page in count(1):
        answer = api.get(path, params={"page": page, "limit": _PAGE}).raise_for_status().json()
        # A search has its entries in `data`.
        entries = answer["data"] if isinstance(answer, dict) else answer
        yield from entries
        if len(entries) < _PAGE:
            return


def _key_title(stack: str) -> str:
    return _KEY_TITLE.format(stack=stack)


def _leads_to(hook: Mapping[str, Any], webhook_url: str) -> bool:
    url: str = hook["config"]["url"]
    return url.startswith(f"{webhook_url}/")
