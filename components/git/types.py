"""Names in Git and GitHub as types of the configuration."""

from __future__ import annotations

from typing import Annotated

from components.config.types import checked_by, matching, unusable_url, url_parts
from components.git.config_wordings import (
    NOT_A_COMMIT,
    NOT_A_GIT_REFERENCE,
    NOT_A_GITHUB_NAME,
    NOT_A_GITHUB_REPOSITORY,
    NOT_A_SIGNER_NAME,
    URL_WITH_CAPITAL_HOST,
    URL_WITHOUT_REPOSITORY,
)

GIT_REFERENCE = r"^(?!/)(?!.*(//|\.\.|@\{|[\x00-\x20~^:?*\[\\]))[^-].*(?<![/.])$|^[A-Za-z0-9]$"
# The names of enterprise-managed users end in an underscore and the enterprise's short code.
_GITHUB_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}"


def _git_url(value: str) -> str:
    example = "https://git.example.com/team/repository or ssh://git@git.example.com/team/repository"
    url = url_parts(value, ("http", "https", "ssh"), example)
    if not url.hostname or not url.path.strip("/"):
        raise unusable_url(value, URL_WITHOUT_REPOSITORY(example=example))
    # Flux compares hosts with known_hosts, and admission with allow-lists, case-sensitively.
    if url.hostname not in url.netloc:
        raise unusable_url(value, URL_WITH_CAPITAL_HOST(example=example))
    return value


GitReference = Annotated[str, *matching(GIT_REFERENCE, NOT_A_GIT_REFERENCE)]
GitCommit = Annotated[str, *matching(r"^[0-9a-f]{40}$", NOT_A_COMMIT)]
GitUrl = Annotated[str, *checked_by(_git_url, "http, https or ssh URL of a Git repository, without credentials")]
SignerName = Annotated[str, *matching(r"^[-._A-Za-z0-9]{1,200}$", NOT_A_SIGNER_NAME)]
GitHubName = Annotated[
    str,
    *matching(
        f"^{_GITHUB_NAME}$",
        NOT_A_GITHUB_NAME,
    ),
]
GitHubRepositoryName = Annotated[
    str,
    *matching(
        rf"^{_GITHUB_NAME}/(?!\.{{1,2}}$)(?!.*\.git$)[A-Za-z0-9._-]{{1,100}}$",
        NOT_A_GITHUB_REPOSITORY,
    ),
]
