"""Whether the program's credentials may administer a repository at GitHub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from os import environ
from typing import TYPE_CHECKING, Any

import requests
from github import Auth, Github, GithubException

from flux_tenancy.components.config.errors import present
from flux_tenancy.components.config.messages import Message, Wording, printable

if TYPE_CHECKING:
    from flux_tenancy.components.git.config import GitHubConfig, GitHubOwner, GitHubRepository


NO_CREDENTIALS = Wording(
    "FT-GIT-001",
    "{owner} has neither a token nor an App, and GITHUB_TOKEN is not set",
    "set GITHUB_TOKEN, or store a token: `pulumi config set --secret --path github.owners.{owner}.token`",
)
REJECTED = Wording("FT-GIT-004", "GitHub rejects {credentials}", "renew it")
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


def refusal(config: GitHubConfig, repository: GitHubRepository) -> Message | None:
    """Why the program cannot administer a repository, or None."""
    path = repository.repository
    try:
        with github_client(config, path) as client:
            found = client.get_repo(path)
            if "full_name" not in found.raw_data:
                return NOT_GITHUB(url=config.base_url)
            # GitHub returns the permissions of a user, but not those of an App.
            if config.identity(repository.owner).app is None and not found.permissions.admin:
                return CANNOT_ADMINISTER(credentials=config.credentials(repository.owner), repository=path)
            return ARCHIVED(path=path) if found.archived else None
    except GitHubUnavailable as error:
        return error.message


def found_at_github(config: GitHubConfig, repository: GitHubRepository, path: str) -> Mapping[str, Any] | None:
    """What GitHub has at a path below a repository, e.g. `keys/17`; empty if nothing, None if it does not say."""
    try:
        with github_client(config, repository.repository) as client:
            _, found = client.requester.requestJsonAndCheck("GET", f"/repos/{repository.repository}/{path}")
            return dict(found)
    except GitHubUnavailable as error:
        if not error.is_not_found:
            return None
    # Whoever may not administer a repository gets the same answer about a key that is there.
    reason = refusal(config, repository)
    return None if reason is not None and reason.code == CANNOT_ADMINISTER.code else {}


@contextmanager
def github_client(config: GitHubConfig, path: str) -> Iterator[Github]:
    """A client with the credentials of an owner.

    Args:
        path: the owner, or `owner/name` of a repository.

    Raises:
        GitHubUnavailable: GitHub refuses a request of the client, or does not answer like GitHub.
    """
    owner = path.partition("/")[0]
    auth = _auth(config.identity(owner))
    if auth is None:
        raise GitHubUnavailable(NO_CREDENTIALS(owner=owner))
    try:
        with _client(config.base_url, auth) as client:
            yield client
    except GithubException as error:
        raise GitHubUnavailable(_explained(error, path, config.credentials(owner))) from None
    except (requests.ConnectionError, requests.Timeout, OSError):
        raise GitHubUnavailable(UNREACHABLE(url=config.base_url)) from None
    except (ValueError, AttributeError, TypeError, KeyError):  # not JSON, or not the expected document
        raise GitHubUnavailable(NOT_GITHUB(url=config.base_url)) from None


def unusable(config: GitHubConfig, owner: str) -> Message | None:
    """Why an owner's credentials are missing or invalid, or None; None also if GitHub does not answer.

    The request itself does not count against GitHub's rate limit; the request for an App's token does.

    Source: https://docs.github.com/en/rest/rate-limit/rate-limit
    """
    try:
        with github_client(config, owner) as client:
            client.get_rate_limit()
    except GitHubUnavailable as error:
        return error.message if error.message.code in (NO_CREDENTIALS.code, REJECTED.code) else None
    return None


def _explained(error: GithubException, path: str, credentials: str) -> Message:
    """What an error status means. The library tells errors apart by their text; GitHub documents the status."""
    if error.status == HTTPStatus.UNAUTHORIZED:
        return REJECTED(credentials=credentials)
    if error.status == HTTPStatus.NOT_FOUND:
        return NOT_FOUND(path=path, credentials=credentials)
    said = str(error.data.get("message", "")) if isinstance(error.data, Mapping) else ""
    return Message(
        "FT-GIT-007",
        f"GitHub answers {error.status} for {path}{f': {printable(said)}' if said else ''}",
        "correct what it says, or check GitHub's status page and try again",
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
