"""Who the program is at GitHub, checked before the first resource also where nothing new is to be registered.

Without credentials the providers would be written without any into the state, and the next update would show the
opposite change. Where something is to be registered, `github_preflight` asks for the repository instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from components.config.errors import Problem
from components.engine.state import State
from components.git.config import GitHubOwner
from components.git.github_preflight import WORKERS, unregistered
from components.git.sources import Sources


def identity_problems(sources: Sources, state: State, stack_file: str) -> list[Problem]:
    """Why the program could not be who it is to be for an owner in whose repositories everything is registered."""
    owners = {owner.lower() for owner in sources.github_owners}
    owners -= {source.github.owner.lower() for _, source in unregistered(sources, state) if source.github is not None}
    if not owners:
        return []
    # Loading GitHub's client takes a third of a second, which stacks without GitHub need not spend.
    from components.git.github_access import unusable

    with ThreadPoolExecutor(WORKERS) as pool:
        reasons = dict(
            zip(sorted(owners), pool.map(lambda owner: unusable(sources.github, owner), sorted(owners)), strict=True)
        )
    return [Problem(stack_file, f"github.owners.{owner}", reason) for owner, reason in reasons.items() if reason]


def unneeded_owners(sources: Sources, stack_file: str) -> Iterator[str]:
    """A warning for each owner that no source needs, such as that of a tenant that was removed."""
    needed = {owner.lower() for owner in sources.github_owners}
    for owner, identity in sources.github.owners.items():
        if owner.lower() not in needed:
            command = f"`pulumi config rm --path github.owners.{owner}`"
            revoke = ", and revoke its credentials if nothing else uses them" if identity != GitHubOwner() else ""
            yield (
                f"{stack_file}: github.owners.{owner}: no source of this stack is in a repository of {owner}; take it "
                f"out with {command}{revoke}"
            )
