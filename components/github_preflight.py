"""Whether the repositories are there in which something is to be registered for the first time.

What is registered already is not asked for again: an outage of GitHub holds up nothing but new tenants and new keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http import HTTPStatus
from os import environ

import requests
from github import Auth, Github, GithubException

from components.configuration import GitHubConfig, GitSource, Problem, StackConfig
from components.configuration.sources import GitHubOwner, GitHubRepository
from components.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE, deploy_key_name, registered_key
from components.recorded import Recorded
from components.sources import sources_by_name

TIMEOUT_SECONDS = 15
WORKERS = 8
PUBLIC_API = "https://api.github.com"


def repository_problems(config: StackConfig, recorded: Recorded, stack_file: str) -> list[Problem]:
    """Why something new cannot be registered at GitHub."""
    new = {name: source.github for name, source in _unregistered(config, recorded)}
    if not new:
        return []
    with ThreadPoolExecutor(WORKERS) as pool:
        reasons = dict(
            zip(new, pool.map(lambda repository: _refusal(config.github, repository), new.values()), strict=True)
        )
    return [Problem(stack_file, _path(config, name), reason) for name, reason in reasons.items() if reason]


def _unregistered(config: StackConfig, recorded: Recorded) -> Iterator[tuple[str, GitSource]]:
    keys, webhooks = recorded.names(DEPLOY_KEY_TYPE), recorded.names(WEBHOOK_TYPE)
    for name, source in sources_by_name(config).items():
        if source.github is None:
            continue
        key = registered_key(source)
        if (key and deploy_key_name(name, key) not in keys) or (source.webhook and name not in webhooks):
            yield name, source


def _path(config: StackConfig, name: str) -> str:
    return f"tenants.{name}.source.github" if name in config.tenants else "flux.sync.source.github"


def _refusal(config: GitHubConfig, repository: GitHubRepository) -> str | None:
    """Why GitHub would not let the program work in a repository, or None."""
    identities: Mapping[str, GitHubOwner] = {owner.lower(): each for owner, each in config.owners.items()}
    path, owner = repository.repository, f"github.owners.{repository.owner}"
    auth = _auth(identities[repository.owner.lower()])
    if auth is None:
        return f"{owner} has neither a token nor an App, and the environment has no GITHUB_TOKEN; provide one of them"
    try:
        with _client(config.base_url, auth) as client:
            found = client.get_repo(path)
            if "full_name" not in found.raw_data:
                return _not_github(config)
            # GitHub tells what a user may do in a repository, and nothing of what an App may.
            if isinstance(auth, Auth.Token) and not found.permissions.admin:
                return f"{path} may be read but not administered with {owner}; give it that right"
            return None
    except GithubException as error:
        return _explained(error, path, owner)
    except (requests.ConnectionError, requests.Timeout, OSError):
        return f"GitHub cannot be reached at {config.base_url}; check github.baseUrl and the network"
    except (ValueError, AttributeError, TypeError):  # not JSON, or not a repository
        return _not_github(config)


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
        app = Auth.AppAuth(identity.app.app_id, identity.app.private_key.get_secret_value())
        return app.get_installation_auth(identity.app.installation_id)
    token = identity.token.get_secret_value() if identity.token is not None else environ.get("GITHUB_TOKEN")
    return Auth.Token(token) if token else None


def _until(headers: Mapping[str, str]) -> str:
    reset = headers.get("x-ratelimit-reset", "")
    return f" until {datetime.fromtimestamp(int(reset), UTC):%H:%M} UTC" if reset.isdigit() else ""
