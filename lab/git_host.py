"""The lab's Git host: Gitea with the sample repositories, seen by its own API and by GitHub's."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from lab.errors import LabError
from lab.files import check_room, locked
from lab.git import Git
from lab.gitea import Gitea
from lab.github_proxy import GithubProxy
from lab.processes import LOOPBACK, Daemon, stop_all
from lab.settings import Settings

BRANCH = "main"
"""The branch that the sample repositories have and that pushes go to."""

_KEY_TITLE = "flux-tenancy {stack}/"
"""How the titles of a stack's deploy keys begin; `components/git/github.py` gives them."""

_PAGE = 50
"""Entries of a page of Gitea's API, the most that it gives."""

_SAMPLE_DATE = "2026-01-01T00:00:00Z"


class GitHost:
    """The Git host of the lab; knowing it starts nothing.

    Attributes:
        gitea: the server behind it.
        proxy: what makes it look like GitHub.
    """

    def __init__(self, settings: Settings) -> None:
        self.gitea = Gitea(settings.state / "git-host", settings.port_base, settings.port_base + 1)
        self.proxy = GithubProxy(self.gitea.folder, self.gitea.address, settings.port_base + 2, settings.port_base + 3)
        self._settings = settings

    def daemons(self) -> list[Daemon]:
        """The host's processes, running or not, in the order of their start."""
        return [self.gitea.daemon(), self.proxy.daemon()]

    def up(self, tools: Mapping[str, Path]) -> None:
        """Make the host run and create the sample repositories that are missing; others are left as they are.

        Args:
            tools: path of each tool by its name, of Gitea (with its assets beside it) and the proxy at least.

        Raises:
            LabError: a server does not get ready, or a repository cannot be created.
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
                    f"the Git host at {self.gitea.address} did not do as told: {error}",
                    f"look into {self.gitea.daemon().log}; `make down` begins anew",
                ) from error

    def stop(self) -> None:
        """Stop the servers; the repositories stay."""
        with locked(self._settings.state / "lock"):
            stop_all(self.daemons())

    @property
    def github_url(self) -> str:
        """Base URL for programs that know GitHub Enterprise, such as Pulumi's GitHub provider."""
        return f"{self.proxy.address}/"

    @property
    def certificate_authority(self) -> Path:
        """PEM file of the authority behind ``https_url``."""
        return self.proxy.certificate_authority

    @property
    def known_hosts(self) -> Path:
        """OpenSSH's file with the key of the server behind ``ssh_url``."""
        return self.gitea.host_key.known_hosts

    @property
    def token_file(self) -> Path:
        """Where ``token`` is kept; missing until the host was brought up."""
        return self.gitea.token_file

    def token(self) -> str:
        """An API token of the administrator, for all repositories, their deploy keys and their webhooks.

        Raises:
            LabError: the host was never brought up.
        """
        return self.gitea.token()

    def url(self, organisation: str, repository: str) -> str:
        """URL of a repository for Git over plain HTTP, without credentials."""
        return f"{self.gitea.address}/{organisation}/{repository}.git"

    def https_url(self, organisation: str, repository: str) -> str:
        """URL of a repository for Git over HTTPS, without credentials."""
        return f"{self.proxy.secure_address}/{organisation}/{repository}.git"

    def ssh_url(self, organisation: str, repository: str) -> str:
        """URL of a repository for Git over SSH."""
        return f"ssh://git@{LOOPBACK}:{self.gitea.ssh_port}/{organisation}/{repository}.git"

    def deploy_keys(self, organisation: str, repository: str) -> list[dict[str, Any]]:
        """The deploy keys of a repository, https://docs.github.com/rest/deploy-keys/deploy-keys.

        Raises:
            httpx.HTTPError: the host does not run, or there is no such repository.
        """
        return self._github(f"/repos/{organisation}/{repository}/keys")

    def webhooks(self, organisation: str, repository: str) -> list[dict[str, Any]]:
        """The webhooks of a repository, https://docs.github.com/rest/repos/webhooks; secrets are not shown.

        Raises:
            httpx.HTTPError: the host does not run, or there is no such repository.
        """
        return self._github(f"/repos/{organisation}/{repository}/hooks")

    def withdraw(self, stack: str, webhook_url: str) -> None:
        """Remove the deploy keys and webhooks of a stack whose state is going to be deleted.

        Nobody else would: they are known by the stack's state, and the host refuses a key that it has already.

        Args:
            stack: name of the stack.
            webhook_url: what the URLs of its webhooks begin with.

        Raises:
            LabError: the host does not run, or refuses it.
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
                f"the deploy keys and webhooks of {stack} cannot be removed at {self.gitea.address}: {error}",
                f"`make start STACK={stack}` starts the Git host; `make down` without STACK deletes the whole lab",
            ) from error

    def clone(self, organisation: str, repository: str, destination: Path) -> Path:
        """Clone a repository into a folder that does not exist yet, ready for ``push``.

        Raises:
            LabError: there is no such repository, or the host does not run.
        """
        destination.parent.mkdir(parents=True, exist_ok=True)
        self._git().run(destination.parent, "clone", "--quiet", self.url(organisation, repository), str(destination))
        return destination

    def push(self, folder: Path) -> str:
        """Push what is committed in a clone to the branch that it has checked out.

        Returns:
            The commit that the branch is at now.

        Raises:
            LabError: the host refuses the push, for example because the branch has moved on.
        """
        git = self._git()
        git.run(folder, "push", "--quiet", "origin", "HEAD")
        return git.run(folder, "rev-parse", "HEAD")

    def commit_files(self, organisation: str, repository: str, files: Mapping[str, str | None], message: str) -> str:
        """Write (or, for None, remove) files of a repository and push that as one commit.

        Args:
            files: new content by path inside the repository.
            message: the commit's message.

        Returns:
            The commit.

        Raises:
            LabError: the host does not run or refuses the push.
        """
        with tempfile.TemporaryDirectory() as temporary:
            folder = self.clone(organisation, repository, Path(temporary) / repository)
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
        """The folders ``lab/sample/<organisation>/<repository>``."""
        return (path for path in sorted((self._settings.project / "lab" / "sample").glob("*/*")) if path.is_dir())

    def ensure_repository(self, organisation: str, repository: str, source: Path, private: bool = True) -> None:
        """Create a repository and fill it; one that has a commit belongs to the user.

        Args:
            source: folder with the content of the first commit.
            private: whether it takes credentials to read it. An organisation that this creates is as visible as
                its first repository: strangers see no public repository in a private organisation.

        Raises:
            httpx.HTTPError: the host does not run, or refuses it.
            LabError: git fails.
        """
        with self.gitea.client() as api:
            if not _exists(api, f"/orgs/{organisation}"):
                new = {"username": organisation, "visibility": "private" if private else "public"}
                api.post("/orgs", json=new).raise_for_status()
            path = f"/repos/{organisation}/{repository}"
            if not _exists(api, path):
                created = {"name": repository, "default_branch": BRANCH, "private": private}
                api.post(f"/orgs/{organisation}/repos", json=created).raise_for_status()
            # A command that was killed here has left the repository empty.
            if api.get(path).raise_for_status().json()["empty"]:
                self._fill(organisation, repository, source)

    def _github(self, path: str) -> list[dict[str, Any]]:
        """What GitHub's API says of ``path`` to the administrator."""
        headers = {"Authorization": f"Bearer {self.token()}"}
        # The user's proxy settings are not for loopback.
        with httpx.Client(base_url=f"{self.github_url}api/v3", headers=headers, trust_env=False) as api:
            found: list[dict[str, Any]] = api.get(path).raise_for_status().json()
            return found

    def _fill(self, organisation: str, repository: str, source: Path) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / repository
            shutil.copytree(source, folder)
            git = self._git()
            git.run(folder, "init", "--quiet", f"--initial-branch={BRANCH}")
            git.run(folder, "remote", "add", "origin", self.url(organisation, repository))
            # Always the same commit, so that what was pushed by a command that was killed meanwhile fits.
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
        # A search has its entries below `data`.
        entries = answer["data"] if isinstance(answer, dict) else answer
        yield from entries
        if len(entries) < _PAGE:
            return


def _key_title(stack: str) -> str:
    return _KEY_TITLE.format(stack=stack)


def _leads_to(hook: Mapping[str, Any], webhook_url: str) -> bool:
    url: str = hook["config"]["url"]
    return url.startswith(f"{webhook_url}/")
