"""The repository's host, at GitHub's API or a server with its shape, as GitHub Actions describes it to a job.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/variables
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

import requests
from github import Auth, Github, GithubException
from github.Repository import Repository

from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.git.github_access import PUBLIC_API, TIMEOUT_SECONDS
from flux_tenancy.project.errors import OperationError

HOST_REFUSES = Wording(
    "FT-REV-511",
    "{api} answers {status}: {reason}",
    "check that the token is valid, and that the job has the permissions in docs/review.md",
)

WORKFLOW_AUTHOR = "github-actions[bot]"
"""Who a workflow's own token writes as; such a token may not ask who it is."""


@dataclass(frozen=True)
class Host:
    """A repository, as one of its users sees it.

    Attributes:
        repository: the repository.
        login: name of the user whose token is used.
        token: the token, for what PyGithub cannot download.
    """

    repository: Repository
    login: str
    token: str = field(repr=False)


@contextmanager
def connected(environ: Mapping[str, str] = os.environ) -> Iterator[Host]:
    """The repository in GITHUB_REPOSITORY at GITHUB_API_URL, with the token in GITHUB_TOKEN.

    Raises:
        OperationError: a variable is missing, or the host refuses a request or does not answer.
    """
    missing = [name for name in ("GITHUB_REPOSITORY", "GITHUB_TOKEN") if not environ.get(name)]
    if missing:
        raise OperationError(
            Message(
                "FT-REV-510",
                f"no {' and no '.join(missing)} in the environment",
                "set it as GitHub Actions does: GITHUB_REPOSITORY to owner/name, GITHUB_TOKEN to a token that "
                "may write comments",
            )
        )
    api, token = environ.get("GITHUB_API_URL") or PUBLIC_API, environ["GITHUB_TOKEN"]
    try:
        with _client(api, token) as client:
            yield Host(client.get_repo(environ["GITHUB_REPOSITORY"]), _login(client), token)
    except GithubException as error:
        reason = printable(error.message or "")
        raise OperationError(HOST_REFUSES(api=api, status=error.status, reason=reason)) from None
    except requests.HTTPError as error:
        status = error.response.status_code if error.response is not None else "an error"
        raise OperationError(HOST_REFUSES(api=api, status=status, reason="of a download")) from None
    except requests.RequestException:
        raise OperationError(
            Message("FT-REV-512", f"{api} does not answer, or its answer is incomplete", "run the job again")
        ) from None


def _client(api: str, token: str) -> Github:
    # Without the library's pauses between requests: a command makes a few, and writes once.
    return Github(
        base_url=api,
        auth=Auth.Token(token),
        timeout=TIMEOUT_SECONDS,
        retry=None,
        per_page=100,
        seconds_between_requests=None,
        seconds_between_writes=None,
    )


def _login(client: Github) -> str:
    try:
        return client.get_user().login
    except GithubException as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return WORKFLOW_AUTHOR
