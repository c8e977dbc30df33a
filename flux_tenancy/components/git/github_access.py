"""Whether the program's credentials may administer a repository at GitHub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from os import environ
from typing import TYPE_CHECKING

import requests
from github import Auth, Github, GithubException

from flux_tenancy.components.config.errors import present
from flux_tenancy.components.config.messages import Message, Wording

if TYPE_CHECKING:
    from flux_tenancy.components.git.config import GitHubConfig, GitHubOwner, GitHubRepository


NO_CREDENTIALS = Wording(
    "FT-GIT-001",
    "{owner} has neither a token nor an App, and GITHUB_TOKEN is not set",
    "set GITHUB_TOKEN, or store a token: `pulumi config set --secret --path github.owners.{owner}.token`",
)
REJECTED = Wording("FT-GIT-004", "GitHub rejects {credentials}", "renew it{how}")
NOT_GITHUB = Wording("FT-GIT-003", "{url} does not answer like GitHub", "check github.baseUrl")
NOT_FOUND = Wording(
    "FT-GIT-005",
    "{path} does not exist, or {credentials} has no access to it",
    "correct the repository, or grant {credentials} access to it",
)
CANNOT_ADMINISTER = Wording(
    "FT-GIT-008", "{credentials} can read {repository} but not administer it", "grant it admin access to the repository"
)
UNREACHABLE = Wording("FT-GIT-002", "cannot reach GitHub at {url}", "check github.baseUrl and the network")
ARCHIVED = Wording("FT-GIT-016", "{path} is archived, and GitHub refuses every change of it", "unarchive it")

TIMEOUT_SECONDS = 15
PUBLIC_API = "https://api.github.com"


class GitHubUnavailable(Exception):
    """GitHub does not answer, or refuses; the message says why."""

    def __init__(self, message: Message) -> None:
        super().__init__(message)
        self.message = message

    @property
    def is_not_found(self) -> bool:
        """Whether GitHub has answered 404: there is no such thing, or not for these credentials."""
        return self.message.code == NOT_FOUND.code

    @property
    def is_unreachable(self) -> bool:
        """Whether GitHub has not answered at all."""
        return self.message.code == UNREACHABLE.code


def refusal(config: GitHubConfig, repository: GitHubRepository) -> Message | None:
    """Why the program cannot administer a repository, or None."""
    path = repository.repository
    try:
        with github_client(config, repository) as client:
            found = client.get_repo(path)
            if "full_name" not in found.raw_data:
                return NOT_GITHUB(url=config.base_url)
            # GitHub returns the permissions of a user, but not those of an App.
            if config.identity(repository.owner).app is None and not found.permissions.admin:
                return CANNOT_ADMINISTER(credentials=config.credentials(repository.owner), repository=path)
            return ARCHIVED(path=path) if found.archived else None
    except GitHubUnavailable as error:
        return error.message


@contextmanager
def github_client(config: GitHubConfig, repository: GitHubRepository) -> Iterator[Github]:
    """A client with the credentials of a repository's owner.

    Raises:
        GitHubUnavailable: GitHub refuses a request of the client, or does not answer like GitHub.
    """
    credentials = config.credentials(repository.owner)
    try:
        auth = _auth(config.identity(repository.owner))
        if auth is None:
            raise GitHubUnavailable(NO_CREDENTIALS(owner=repository.owner))
        with _client(config.base_url, auth) as client:
            yield client
    except GithubException as error:
        raise GitHubUnavailable(_explained(error, repository.repository, credentials)) from None
    except (requests.ConnectionError, requests.Timeout, OSError):
        raise GitHubUnavailable(UNREACHABLE(url=config.base_url)) from None
    except (ValueError, AttributeError, TypeError, KeyError):  # not JSON, or not the expected document
        raise GitHubUnavailable(NOT_GITHUB(url=config.base_url)) from None


def unusable(config: GitHubConfig, owner: str) -> Message | None:
    """Why an owner's credentials are missing or invalid, or None; None also if GitHub does not answer.

    The request itself does not count against GitHub's rate limit; the request for an App's token does.

    Source: https://docs.github.com/en/rest/rate-limit/rate-limit
    """
    identity = config.identity(owner)
    auth = _auth(identity)
    if auth is None:
        return NO_CREDENTIALS(owner=owner)
    try:
        with _client(config.base_url, auth) as client:
            client.get_rate_limit()
    except GithubException as error:
        if error.status == HTTPStatus.UNAUTHORIZED:
            return _rejection(identity, owner)
    except (requests.ConnectionError, requests.Timeout, OSError, ValueError, AttributeError, TypeError):
        pass
    return None


def _rejection(identity: GitHubOwner, owner: str) -> Message:
    if identity.app is None and identity.token is None:
        return REJECTED(credentials="GITHUB_TOKEN, which owners with neither a token nor an App use", how="")
    what, key = ("its token", "token") if identity.app is None else ("the key of its App", "app.privateKey")
    how = f": `pulumi config set --secret --path github.owners.{owner}.{key}`"
    return REJECTED(credentials=what, how=how)


def _explained(error: GithubException, path: str, credentials: str) -> Message:
    """What an error status means. The library tells errors apart by their text; GitHub documents the status."""
    headers = error.headers or {}
    if error.status == HTTPStatus.UNAUTHORIZED:
        return REJECTED(credentials=credentials, how="")
    if error.status == HTTPStatus.NOT_FOUND:
        return NOT_FOUND(path=path, credentials=credentials)
    limited = headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers
    if limited and error.status in (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS):
        return Message(
            "FT-GIT-006",
            f"GitHub's rate limit is exceeded{_until(headers)}",
            "try again later, or use an App, which has a separate rate limit",
        )
    return Message(
        "FT-GIT-007", f"GitHub answers {error.status} for {path}", "check GitHub's status page and try again"
    )


def _client(base_url: str, auth: Auth.Auth) -> Github:
    server = base_url.rstrip("/")
    api = server if server == PUBLIC_API else f"{server}/api/v3"
    return Github(base_url=api, auth=auth, timeout=TIMEOUT_SECONDS, retry=None, per_page=1, lazy=False)


def _auth(identity: GitHubOwner) -> Auth.Auth | None:
    if identity.app is not None:
        app = Auth.AppAuth(identity.app.app_id, identity.app.private_key.get_secret_value())
        return app.get_installation_auth(present(identity.app.installation_id, "GitHubOwner requires it"))
    token = identity.token.get_secret_value() if identity.token is not None else environ.get("GITHUB_TOKEN")
    return Auth.Token(token) if token else None


def _until(headers: Mapping[str, str]) -> str:
    try:
        return f" until {datetime.fromtimestamp(int(headers['x-ratelimit-reset']), UTC):%H:%M} UTC"
    except (KeyError, ValueError, OverflowError, OSError):
        return ""
