"""Whether the repositories exist in which something is to be registered for the first time.

Repositories where everything is registered already are not checked again, which saves requests of GitHub's rate limit.

The credentials of owners are checked even if nothing new is to be registered: providers without credentials would be
recorded without any in the state, and the next update would show the opposite change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.errors import Problem, present
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.git.config import GitHubOwner, GitSource
from flux_tenancy.components.git.github import (
    WEBHOOK_TYPE,
    Registration,
    answers,
    recorded_keys,
    registrations,
    source_of_deploy_key,
)
from flux_tenancy.components.git.sources import Sources, github_key_path, object_name, repository_in
from flux_tenancy.components.vocabulary.manifests import resource_type
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, SOURCE_API

if TYPE_CHECKING:
    from flux_tenancy.components.engine.state import State


def repository_problems(sources: Sources, new: Mapping[str, GitSource], stack_file: str) -> list[Problem]:
    """Why something new (`unregistered`) cannot be registered at GitHub."""
    repositories = {name: source.github for name, source in new.items() if source.github is not None}
    if not repositories:
        return []
    # Importing GitHub's client takes a third of a second, which updates without anything new do not need.
    from flux_tenancy.components.git.github_access import refusal

    reasons = answers(lambda name: refusal(sources.github, repositories[name]), repositories)
    return [Problem(stack_file, github_key_path(name), reason) for name, reason in reasons.items() if reason]


def lost_repositories(
    sources: Sources, new: Mapping[str, GitSource], problems: Iterable[Problem], state: State
) -> dict[str, Message]:
    """The sources whose repository this stack knows, and GitHub does not find or has archived, each with a warning.

    Nothing can be registered there, such as the new key of a rotation. That is the tenant's loss alone: others must be
    able to change, and it must be able to leave.

    Args:
        new: the sources of which something is to be registered (`unregistered`).
        problems: what `repository_problems` has found about them.
    """
    refused = {problem.path: problem for problem in problems if problem.code in ("FT-GIT-005", "FT-GIT-016")}
    lost: dict[str, Message] = {}
    for name, source in new.items():
        if source.github is None or github_key_path(name) not in refused:
            continue
        known = source.github.name.lower() in _registered_in(name, state)
        if known or _fetched_before(name, sources, state) == source.github.repository.lower():
            lost[name] = Message(
                "FT-GIT-014",
                f"{github_key_path(name)}: nothing new is registered there, and everything else is applied: "
                f"{refused[github_key_path(name)].message}",
                "otherwise remove the tenant",
            )
    return lost


def _registered_in(name: str, state: State) -> set[str]:
    """The repositories, in lower case, in which something is registered for a source."""
    found = {key.repository for key in recorded_keys(state) if source_of_deploy_key(key.name) == name}
    webhook = state.resources.get((WEBHOOK_TYPE, name), {})
    return {repository.lower() for repository in (*found, webhook.get("repository", ""))}


def _fetched_before(name: str, sources: Sources, state: State) -> str | None:
    """The repository that a source had in the last update, or None.

    After a refresh, nothing else is left in the state of what GitHub has lost.
    """
    manifest = {"apiVersion": SOURCE_API, "kind": GIT_REPOSITORY}
    found = state.resources.get((resource_type(manifest), f"{sources.homes[name]}/{object_name(name)}"))
    return None if found is None else repository_in(found["spec"]["url"])


def unregistered(sources: Sources, state: State) -> dict[str, GitSource]:
    """The sources, by name, whose deploy key or webhook is to be registered and not yet in the state."""
    return {name: source for name, source in sources.by_name.items() if new_registrations(name, source, state)}


def new_registrations(name: str, source: GitSource, state: State) -> set[Registration]:
    """What is to be registered at GitHub for a source and not yet in the state, or there in another repository."""
    wanted = registrations(name, source)
    return {each for each in wanted if each not in state.resources or _moves(source, state.resources[each])}


def _moves(source: GitSource, registered: Mapping[str, Any]) -> bool:
    name = present(source.github, "something is registered there").name
    return str(registered.get("repository", name)).lower() != name.lower()


def identity_problems(sources: Sources, new: Mapping[str, GitSource], stack_file: str) -> list[Problem]:
    """Missing or invalid credentials of owners in whose repositories everything is already registered.

    Args:
        new: those of which something is to be registered (`unregistered`).
    """
    owners = {owner.lower() for owner in sources.github_owners}
    owners -= {source.github.owner.lower() for source in new.values() if source.github is not None}
    if not owners:
        return []
    # Importing GitHub's client takes a third of a second, which stacks without GitHub do not need.
    from flux_tenancy.components.git.github_access import unusable

    reasons = answers(partial(unusable, sources.github), sorted(owners))
    return [Problem(stack_file, f"github.owners.{owner}", reason) for owner, reason in reasons.items() if reason]


def unneeded_owners(sources: Sources, stack_file: str) -> Iterator[Message]:
    """A warning for each owner that no source needs, such as the owner of a removed tenant's repository."""
    needed = {owner.lower() for owner in sources.github_owners}
    for owner, identity in sources.github.owners.items():
        if owner.lower() not in needed:
            revoked = ", and revoke its credentials if nothing else uses them" if identity != GitHubOwner() else ""
            yield Message(
                "FT-GIT-012",
                f"{stack_file}: github.owners.{owner}: no source of this stack is in a repository of {owner}",
                f"remove it with `pulumi config rm --path github.owners.{owner}`{revoked}",
            )
