"""Names in Git and GitHub as types of the configuration."""

from __future__ import annotations

from typing import Annotated

from components.config.messages import Message
from components.config.types import checked_by, matching, unusable_url, url_parts

GIT_REFERENCE = r"^(?!/)(?!.*(//|\.\.|@\{|[\x00-\x20~^:?*\[\\]))[^-].*(?<![/.])$|^[A-Za-z0-9]$"
# The names of enterprise-managed users end in an underscore and the enterprise's short code.
_GITHUB_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}"


def _git_url(value: str) -> str:
    example = "https://git.example.com/team/repository or ssh://git@git.example.com/team/repository"
    url = url_parts(value, ("http", "https", "ssh"), example)
    if not url.hostname or not url.path.strip("/"):
        raise unusable_url(value, Message("FT-CFG-255", "has no host or no repository", f"write it like {example}"))
    # Flux compares hosts with known_hosts, and admission with allow-lists, case-sensitively.
    if url.hostname not in url.netloc:
        raise unusable_url(value, Message("FT-CFG-256", "has a host with capital letters", f"write it like {example}"))
    return value


GitReference = Annotated[
    str,
    *matching(
        GIT_REFERENCE, Message("FT-CFG-250", "is not a branch or tag name that Git accepts", "write it like main")
    ),
]
GitCommit = Annotated[
    str,
    *matching(
        r"^[0-9a-f]{40}$", Message("FT-CFG-251", "is not a full commit id", "write 40 lowercase hexadecimal digits")
    ),
]
GitUrl = Annotated[str, *checked_by(_git_url, "http, https or ssh URL of a Git repository, without credentials")]
SignerName = Annotated[
    str,
    *matching(r"^[-._A-Za-z0-9]{1,200}$", Message("FT-CFG-252", "is not a name of letters, digits, '-', '_' and '.'")),
]
GitHubName = Annotated[
    str,
    *matching(
        f"^{_GITHUB_NAME}$",
        Message(
            "FT-CFG-253",
            "is not a GitHub organization or user",
            "use at most 39 letters, digits, '-' and '_', e.g. my-org",
        ),
    ),
]
GitHubRepositoryName = Annotated[
    str,
    *matching(
        rf"^{_GITHUB_NAME}/(?!\.{{1,2}}$)(?!.*\.git$)[A-Za-z0-9._-]{{1,100}}$",
        Message("FT-CFG-254", "is not a GitHub repository", "write it like my-org/my-repository"),
    ),
]
