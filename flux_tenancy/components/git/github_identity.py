"""The credentials for GitHub, checked before the first resource even if nothing new is to be registered.

Providers without credentials would be recorded without any in the state, and the next update would show the opposite
change. For owners of repositories where something is to be registered, `github_preflight` checks the repository.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.git.config import GitHubOwner, GitSource
from flux_tenancy.components.git.github_preflight import WORKERS

if TYPE_CHECKING:
    from flux_tenancy.components.git.sources import Sources

UNUSED_OWNER = Wording(
    "FT-GIT-012",
    "{file}: github.owners.{owner}: no source of this stack is in a repository of {owner}",
    "remove it with `pulumi config rm --path github.owners.{owner}`",
)
UNUSED_CREDENTIALS = Wording(
    "FT-GIT-013",
    UNUSED_OWNER.text,
    f"{UNUSED_OWNER.remedy}, and revoke its credentials if nothing else uses them",
)


def identity_problems(sources: Sources, new: Mapping[str, GitSource], stack_file: str) -> list[Problem]:
    """Missing or invalid credentials of owners in whose repositories everything is already registered.

    Args:
        sources: the Git sources of the stack.
        new: those of which something is to be registered (`unregistered`).
        stack_file: name of the stack's file.
    """
    owners = {owner.lower() for owner in sources.github_owners}
    owners -= {source.github.owner.lower() for source in new.values() if source.github is not None}
    if not owners:
        return []
    # Importing GitHub's client takes a third of a second, which stacks without GitHub do not need.
    from flux_tenancy.components.git.github_access import unusable

    with ThreadPoolExecutor(WORKERS) as pool:
        reasons = dict(
            zip(sorted(owners), pool.map(lambda owner: unusable(sources.github, owner), sorted(owners)), strict=True)
        )
    return [Problem(stack_file, f"github.owners.{owner}", reason) for owner, reason in reasons.items() if reason]


def unneeded_owners(sources: Sources, stack_file: str) -> Iterator[Message]:
    """A warning for each owner that no source needs, such as the owner of a removed tenant's repository."""
    needed = {owner.lower() for owner in sources.github_owners}
    for owner, identity in sources.github.owners.items():
        if owner.lower() not in needed:
            wording = UNUSED_CREDENTIALS if identity != GitHubOwner() else UNUSED_OWNER
            yield wording(file=stack_file, owner=owner)
