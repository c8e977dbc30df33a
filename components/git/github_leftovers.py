"""What an update that was killed has registered at GitHub without recording it, and what is done about that.

The host has such a deploy key or webhook and the state does not. GitHub would refuse the same key once more, deliver
each push twice to the same webhook, and keep a key valid that nothing removes any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi

from components.config.errors import Problem
from components.config.printable import printable
from components.engine.state import State
from components.git.config import GitHubConfig, GitHubRepository, GitSource
from components.git.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE, key_title_prefix, registered_key
from components.git.github_preflight import WORKERS, unregistered
from components.git.source_objects import WEBHOOK_ROOT
from components.git.sources import Sources, github_key_path

if TYPE_CHECKING:
    from github import Github

PAGE_SIZE = 100
"""Entries of a page of GitHub's lists, at most."""


@dataclass(frozen=True)
class Leftover:
    """A deploy key or webhook of this stack that is in a repository and not in the state.

    Attributes:
        repository: the repository.
        path: where the API has it below the repository, e.g. `keys/17`.
        told: what it is called.
        used: whether somebody has used it: no killed update has got so far.
    """

    repository: GitHubRepository
    path: str
    told: str
    used: bool = False


def github_leftovers(
    sources: Sources, state: State, stack: str, stack_file: str
) -> tuple[list[Leftover], list[Problem]]:
    """What is in the repositories in which something new is to be registered, and what of it is in the way.

    A stack that has everything registered asks for nothing.

    Args:
        sources: the Git sources of the stack.
        state: what earlier updates of this stack have left.
        stack: its name.
        stack_file: what the errors call the file of the stack.
    """
    new = dict(unregistered(sources, state))
    if not new:
        return [], []
    repositories = {source.github.repository.lower(): source.github for source in new.values() if source.github}
    with ThreadPoolExecutor(WORKERS) as pool:
        registered = dict(
            zip(repositories, pool.map(lambda each: _read(sources.github, each), repositories.values()), strict=True)
        )
    leftovers: list[Leftover] = []
    problems: list[Problem] = []
    for path, repository in repositories.items():
        wanted = {
            name: source for name, source in new.items() if source.github and source.github.repository.lower() == path
        }
        answer = registered[path]
        if isinstance(answer, str):
            problems += [Problem(stack_file, github_key_path(name), answer) for name in wanted]
            continue
        keys, hooks = answer
        leftovers += own_keys(keys, repository, wanted.values(), state, stack)
        leftovers += own_webhooks(hooks, repository, sources.webhook_url, state)
        problems += [
            Problem(stack_file, github_key_path(name), reason)
            for name, source in wanted.items()
            if (reason := taken_key(keys, repository, source, stack))
        ]
    return leftovers, problems


def own_keys(
    keys: Iterable[Mapping[str, Any]],
    repository: GitHubRepository,
    sources: Iterable[GitSource],
    state: State,
    stack: str,
) -> Iterator[Leftover]:
    """The deploy keys with a title of this stack that the state does not have.

    Args:
        keys: all of the repository, https://docs.github.com/rest/deploy-keys/deploy-keys.
        repository: the repository.
        sources: those for which something is registered there; a key of theirs is this stack's, used or not.
        state: what earlier updates of this stack have left.
        stack: its name.
    """
    known = _known(outputs.get("title") for outputs in state.outputs(DEPLOY_KEY_TYPE))
    if known is None:
        return
    wanted = {key.public for source in sources if (key := registered_key(source)) is not None}
    for found in keys:
        title = found["title"]
        if title.startswith(key_title_prefix(stack)) and title not in known:
            used = bool(found.get("last_used")) and _without_comment(found["key"]) not in wanted
            yield Leftover(repository, f"keys/{found['id']}", f"the deploy key {printable(title)!r}", used)


def own_webhooks(
    hooks: Iterable[Mapping[str, Any]], repository: GitHubRepository, webhook_url: str | None, state: State
) -> Iterator[Leftover]:
    """The webhooks that lead to this cluster's Receivers and that the state does not have.

    Args:
        hooks: all of the repository, https://docs.github.com/rest/repos/webhooks.
        repository: the repository.
        webhook_url: where Git hosts reach this cluster's Receivers, or None.
        state: what earlier updates of this stack have left.
    """
    if webhook_url is None:
        return
    configurations = [outputs.get("configuration") for outputs in state.outputs(WEBHOOK_TYPE)]
    known = _known(each.get("url") if isinstance(each, Mapping) else None for each in configurations)
    if known is None:
        return
    for hook in hooks:
        url = str(hook["config"].get("url", ""))
        if url.startswith(f"{webhook_url.rstrip('/')}{WEBHOOK_ROOT}") and url not in known:
            # Its path is what keeps others from announcing pushes: it is shown to nobody.
            yield Leftover(repository, f"hooks/{hook['id']}", f"the webhook {hook['id']}")


def taken_key(
    keys: Iterable[Mapping[str, Any]], repository: GitHubRepository, source: GitSource, stack: str
) -> str | None:
    """Why a source's deploy key cannot be registered: somebody else has registered it, under a title of his own."""
    wanted = registered_key(source)
    if wanted is None:
        return None
    for found in keys:
        title = found["title"]
        if _without_comment(found["key"]) == wanted.public and not title.startswith(key_title_prefix(stack)):
            return (
                f"its deploy key is registered in {repository.repository} already, as {printable(title)!r}; remove it "
                "there, or generate another one"
            )
    return None


def clear_github(config: GitHubConfig, leftovers: Iterable[Leftover]) -> None:
    """Remove what a killed update has left, and say so; a preview only says so.

    Raises:
        pulumi.RunError: GitHub does not do it.
    """
    for each in leftovers:
        told = f"{each.told} of {each.repository.repository} is not in the stack's state"
        if each.used:
            pulumi.log.warn(
                f"{told} and has been used, so it stays; remove it at GitHub unless another project uses it"
            )
        elif pulumi.runtime.is_dry_run():
            pulumi.log.info(f"{told}: an update was interrupted; the next one removes it")
        else:
            _remove(config, each)
            pulumi.log.info(f"{told}: an update was interrupted; it is removed")


def _read(
    config: GitHubConfig, repository: GitHubRepository
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]] | str:
    """The deploy keys and webhooks of a repository, or why they cannot be read."""
    # Loading GitHub's client takes a third of a second, which updates without anything new need not spend.
    from components.git.github_access import GitHubUnavailable, github_client

    def entries(client: Github, kind: str) -> list[dict[str, Any]]:
        # The library's own objects would ask for each of them once more where a server leaves out a field.
        found: list[dict[str, Any]] = []
        while len(found) % PAGE_SIZE == 0:
            query = {"per_page": PAGE_SIZE, "page": len(found) // PAGE_SIZE + 1}
            _, page = client.requester.requestJsonAndCheck("GET", f"/repos/{repository.repository}/{kind}", query)
            found += page
            if not page:
                break
        return found

    try:
        with github_client(config, repository) as client:
            return entries(client, "keys"), entries(client, "hooks")
    except GitHubUnavailable as error:
        return f"the deploy keys and webhooks of {repository.repository} cannot be read: {error}"


def _remove(config: GitHubConfig, leftover: Leftover) -> None:
    from components.git.github_access import GitHubUnavailable, github_client

    try:
        with github_client(config, leftover.repository) as client:
            client.requester.requestJsonAndCheck("DELETE", f"/repos/{leftover.repository.repository}/{leftover.path}")
    except GitHubUnavailable as error:
        raise pulumi.RunError(
            f"{leftover.told} of {leftover.repository.repository} cannot be removed: {error}"
        ) from None


def _known(state: Iterable[object]) -> set[str] | None:
    """What the state has, or None where not all of it can be read: then nothing can be told from what it has not."""
    known: set[str] = set()
    for each in state:
        if not isinstance(each, str):
            return None
        known.add(each)
    return known


def _without_comment(key: str) -> str:
    """Type and data of a public key."""
    return " ".join(key.split()[:2])
