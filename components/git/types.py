"""Names of Git and GitHub as types of the configuration. Each refuses with what to write instead."""

from __future__ import annotations

from typing import Annotated

from components.config.types import (
    checked_by,
    matching,
    unusable_url,
    url_parts,
)

GIT_REFERENCE = r"^(?!/)(?!.*(//|\.\.|@\{|[\x00-\x20~^:?*\[\\]))[^-].*(?<![/.])$|^[A-Za-z0-9]$"
# Users that an enterprise manages have an underscore and its short name at the end of theirs.
_GITHUB_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}"


def _git_url(value: str) -> str:
    example = "write it like https://git.example.com/team/repository or ssh://git@git.example.com/team/repository"
    url = url_parts(value, ("http", "https", "ssh"), example)
    if not url.hostname or not url.path.strip("/"):
        raise unusable_url(value, f"names no host or no repository; {example}")
    # Flux compares hosts with known_hosts, and admission with what is allowed, letter by letter.
    if url.hostname not in url.netloc:
        raise unusable_url(value, f"names its host in capital letters; {example}")
    return value


GitReference = Annotated[str, *matching(GIT_REFERENCE, "a name that Git accepts for a branch or tag, e.g. main")]
GitCommit = Annotated[str, *matching(r"^[0-9a-f]{40}$", "a full commit id: 40 hexadecimal digits")]
GitUrl = Annotated[str, *checked_by(_git_url, "http, https or ssh URL of a Git repository, without credentials")]
SignerName = Annotated[str, *matching(r"^[-._A-Za-z0-9]{1,200}$", "a name of letters, digits, '-', '_' and '.'")]
GitHubName = Annotated[
    str,
    *matching(
        f"^{_GITHUB_NAME}$",
        "an organisation or user of GitHub: at most 39 letters, digits, '-' and '_', e.g. my-org",
    ),
]
GitHubRepositoryName = Annotated[
    str,
    *matching(
        rf"^{_GITHUB_NAME}/(?!\.{{1,2}}$)(?!.*\.git$)[A-Za-z0-9._-]{{1,100}}$",
        "a repository of GitHub; write it like my-org/my-repository",
    ),
]
