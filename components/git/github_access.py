"""Whether GitHub lets the program work in a repository, asked with the credentials that it will work with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from os import environ

import requests
from github import Auth, Github, GithubException

from components.git.config import GitHubConfig, GitHubOwner, GitHubRepository

TIMEOUT_SECONDS = 15
PUBLIC_API = "https://api.github.com"


class GitHubUnavailable(Exception):
    """GitHub cannot be asked, or refuses; the message says why."""


def refusal(config: GitHubConfig, repository: GitHubRepository) -> str | None:
    """Why GitHub would not let the program work in a repository, or None."""
    path, owner = repository.repository, f"github.owners.{repository.owner}"
    try:
        with github_client(config, repository) as client:
            found = client.get_repo(path)
            if "full_name" not in found.raw_data:
                return _not_github(config)
            # GitHub tells what a user may do in a repository, and nothing of what an App may.
            if config.identity(repository.owner).app is None and not found.permissions.admin:
                return f"{path} may be read but not administered with {owner}; give it that right"
            return None
    except GitHubUnavailable as error:
        return str(error)


@contextmanager
def github_client(config: GitHubConfig, repository: GitHubRepository) -> Iterator[Github]:
    """A client that works in a repository with the credentials of its owner.

    Raises:
        GitHubUnavailable: GitHub refuses what is asked of the client, or does not answer as GitHub does.
    """
    owner = f"github.owners.{repository.owner}"
    try:
        auth = _auth(config.identity(repository.owner))
        if auth is None:
            raise GitHubUnavailable(f"{owner} {_without(repository.owner)}")
        with _client(config.base_url, auth) as client:
            yield client
    except GithubException as error:
        raise GitHubUnavailable(_explained(error, repository.repository, owner)) from None
    except (requests.ConnectionError, requests.Timeout, OSError):
        raise GitHubUnavailable(_unreachable(config)) from None
    except (ValueError, AttributeError, TypeError, KeyError):  # not JSON, or not what was asked for
        raise GitHubUnavailable(_not_github(config)) from None


def unusable(config: GitHubConfig, owner: str) -> str | None:
    """Why an owner's credentials are none, or None; a GitHub that gives no answer is no reason.

    What is asked for does not count against GitHub's rate limit, though an App's token does.

    Source: https://docs.github.com/en/rest/rate-limit/rate-limit
    """
    identity = config.identity(owner)
    auth = _auth(identity)
    if auth is None:
        return _without(owner)
    try:
        with _client(config.base_url, auth) as client:
            client.get_rate_limit()
    except GithubException as error:
        if error.status == HTTPStatus.UNAUTHORIZED:
            return f"GitHub does not accept {_called(identity, owner)}"
    except (requests.ConnectionError, requests.Timeout, OSError, ValueError, AttributeError, TypeError):
        pass
    return None


def _called(identity: GitHubOwner, owner: str) -> str:
    """Credentials by their place, and how they are replaced."""
    if identity.app is not None:
        return f"its App; renew the key: `pulumi config set --secret --path github.owners.{owner}.app.privateKey`"
    if identity.token is not None:
        return f"its token; renew it: `pulumi config set --secret --path github.owners.{owner}.token`"
    return "the environment's GITHUB_TOKEN, which this owner has for want of a token or an App; renew it"


def _without(owner: str) -> str:
    return (
        "has neither a token nor an App, and the environment has no GITHUB_TOKEN; export that, or give it one: "
        f"`pulumi config set --secret --path github.owners.{owner}.token`"
    )


def _unreachable(config: GitHubConfig) -> str:
    return f"GitHub cannot be reached at {config.base_url}; check github.baseUrl and the network"


def _not_github(config: GitHubConfig) -> str:
    return f"{config.base_url} does not answer as GitHub does; check github.baseUrl"


def _explained(error: GithubException, path: str, owner: str) -> str:
    """An answer that is no success. The library's own kinds of error go by the wording; GitHub documents the status."""
    headers = error.headers or {}
    if error.status == HTTPStatus.UNAUTHORIZED:
        return f"GitHub does not accept the credentials of {owner}; renew them"
    if error.status == HTTPStatus.NOT_FOUND:
        return f"{path} does not exist, or the credentials of {owner} may not see it; correct either"
    limited = headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers
    if limited and error.status in (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS):
        return f"GitHub's rate limit is used up{_until(headers)}; run it again then, or use an App, which has its own"
    return f"GitHub answers {error.status} for {path}; see its status page, and run it again"


def _client(base_url: str, auth: Auth.Auth) -> Github:
    server = base_url.rstrip("/")
    api = server if server == PUBLIC_API else f"{server}/api/v3"
    return Github(base_url=api, auth=auth, timeout=TIMEOUT_SECONDS, retry=None, per_page=1, lazy=False)


def _auth(identity: GitHubOwner) -> Auth.Auth | None:
    if identity.app is not None:
        assert identity.app.installation_id is not None  # GitHubOwner requires it.
        app = Auth.AppAuth(identity.app.app_id, identity.app.private_key.get_secret_value())
        return app.get_installation_auth(identity.app.installation_id)
    token = identity.token.get_secret_value() if identity.token is not None else environ.get("GITHUB_TOKEN")
    return Auth.Token(token) if token else None


def _until(headers: Mapping[str, str]) -> str:
    reset = headers.get("x-ratelimit-reset", "")
    return f" until {datetime.fromtimestamp(int(reset), UTC):%H:%M} UTC" if reset.isdigit() else ""
