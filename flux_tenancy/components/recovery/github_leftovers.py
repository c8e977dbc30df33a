"""Deploy keys and webhooks that a killed update has registered at GitHub without recording them.

They are at GitHub and not in the state. GitHub would refuse to register the same key again, deliver each push twice to
the same webhook, and keep a key valid that nothing removes any more. This is so after each kill, since
`flux-tenancy up` writes the state only at its end.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi

from flux_tenancy.components.cluster.client import explaining, items
from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.engine import log
from flux_tenancy.components.git.config import WEBHOOK_ROOT, Sources, github_key_path, object_name
from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE, answers, key_title_prefix, registered_key
from flux_tenancy.components.git.source import NOTIFICATION_API
from flux_tenancy.components.plan import carries_marks

if TYPE_CHECKING:
    from github import Github
    from kubernetes import client

    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.git.config import GitHubConfig, GitHubRepository, GitSource

_FAILED = Wording("FT-GIT-023", "cannot {what}: {reason}")
PAGE_SIZE = 100
"""Entries of a page of GitHub's lists, at most."""


@dataclass(frozen=True)
class Leftover:
    """A deploy key or webhook of this stack that is in a repository and not in the state.

    Attributes:
        path: its path in GitHub's API below the repository, e.g. `keys/17`.
        label: what messages call it, e.g. `the webhook 17`.
        used: whether it has been used, which a killed update does not get to.
    """

    repository: GitHubRepository
    path: str
    label: str
    used: bool = False


def github_leftovers(
    sources: Sources, new: Mapping[str, GitSource], state: State, stack: str, stack_file: str, by_hand: Container[str]
) -> tuple[list[Leftover], list[Problem]]:
    """What is left in the repositories where something new is to be registered, and what blocks the registration.

    If everything is registered already, GitHub is not asked.

    Args:
        new: those of which something is to be registered (`unregistered`).
        by_hand: the URL paths of Receivers that this program registers nowhere (`receivers_by_hand`).
    """
    if not new:
        return [], []
    repositories = {source.github.repository.lower(): source.github for source in new.values() if source.github}
    registered = answers(lambda path: _read(sources.github, repositories[path]), repositories)
    leftovers: list[Leftover] = []
    problems: list[Problem] = []
    for path, repository in repositories.items():
        wanted = {
            name: source for name, source in new.items() if source.github and source.github.repository.lower() == path
        }
        answer = registered[path]
        if isinstance(answer, Message):
            problems += [Problem(stack_file, github_key_path(name), answer) for name in wanted]
            continue
        keys, hooks = answer
        leftovers += own_keys(keys, repository, wanted.values(), state, stack)
        leftovers += own_webhooks(hooks, repository, sources.webhook_url, state, by_hand)
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
    """The deploy keys with a title of this stack that are not in the state.

    Args:
        keys: all of the repository, https://docs.github.com/rest/deploy-keys/deploy-keys.
        sources: the sources to be registered there; their keys belong to this stack, used or not.
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
    hooks: Iterable[Mapping[str, Any]],
    repository: GitHubRepository,
    webhook_url: str | None,
    state: State,
    by_hand: Container[str],
) -> Iterator[Leftover]:
    """The webhooks that point to this cluster's Receivers, are not in the state and not registered by hand.

    Args:
        hooks: all of the repository, https://docs.github.com/rest/repos/webhooks.
        webhook_url: where Git hosts reach this cluster's Receivers, or None.
        by_hand: the URL paths of Receivers that this program registers nowhere.
    """
    if webhook_url is None:
        return
    configurations = [outputs.get("configuration") for outputs in state.outputs(WEBHOOK_TYPE)]
    known = _known(each.get("url") if isinstance(each, Mapping) else None for each in configurations)
    if known is None:
        return
    base = webhook_url.rstrip("/")
    for hook in hooks:
        url = str(hook["config"].get("url", ""))
        if url.startswith(f"{base}{WEBHOOK_ROOT}") and url not in known and url.removeprefix(base) not in by_hand:
            # The path is a secret, which keeps others from triggering the Receiver: it is never shown.
            yield Leftover(repository, f"hooks/{hook['id']}", f"the webhook {hook['id']}")


def receivers_by_hand(api: client.ApiClient, sources: Sources) -> set[str]:
    """The URL paths of the cluster's Receivers that this program registers nowhere, e.g. `/hook/1a2b…`.

    They are of others, or of sources of the stack without a repository at GitHub. Raises ClusterUnavailable.
    """
    with explaining(api):
        found = items(api, f"/apis/{NOTIFICATION_API}/receivers")
    own = {(sources.homes[name], object_name(name)) for name, each in sources.by_name.items() if each.github is None}
    return {
        path
        for each in found
        if (path := (each.get("status") or {}).get("webhookPath"))
        and (not carries_marks(meta := each["metadata"]) or (meta.get("namespace"), meta["name"]) in own)
    }


def taken_key(
    keys: Iterable[Mapping[str, Any]], repository: GitHubRepository, source: GitSource, stack: str
) -> Message | None:
    """Why a source's deploy key cannot be registered: it is registered already, under a title of somebody else."""
    wanted = registered_key(source)
    if wanted is None:
        return None
    for found in keys:
        title = found["title"]
        if _without_comment(found["key"]) == wanted.public and not title.startswith(key_title_prefix(stack)):
            return Message(
                "FT-GIT-025",
                f"its deploy key is already registered in {repository.repository} as {printable(title)!r}",
                "generate another key with `flux-tenancy key deploy`, or remove it there if nothing uses it",
            )
    return None


def clear_github(config: GitHubConfig, leftovers: Iterable[Leftover]) -> None:
    """Remove what a killed update has left, and log it; a preview only logs.

    Raises:
        pulumi.RunError: GitHub refuses or does not answer.
    """
    for each in leftovers:
        if each.used:
            log.warn(
                Message(
                    "FT-GIT-020",
                    f"{each.label} of {each.repository.repository} is not in the stack's state; it is kept, "
                    "because it has been used",
                    "remove it at GitHub unless another project uses it",
                )
            )
        else:
            is_preview = pulumi.runtime.is_dry_run()
            if not is_preview:
                _remove(config, each)
            log.info(
                Message(
                    "FT-GIT-021",
                    f"{each.label} of {each.repository.repository} is not in the stack's state: an update was "
                    f"interrupted; {'the next one removes it' if is_preview else 'it is now removed'}",
                )
            )


def _read(
    config: GitHubConfig, repository: GitHubRepository
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]] | Message:
    """The deploy keys and webhooks of a repository, or why they cannot be read."""
    # Importing GitHub's client takes a third of a second, which updates without anything new do not need.
    from flux_tenancy.components.git.github_access import GitHubUnavailable, github_client

    def entries(client: Github, kind: str) -> list[dict[str, Any]]:
        # The library's own objects would request each entry again if the server leaves out a field.
        found: list[dict[str, Any]] = []
        while len(found) % PAGE_SIZE == 0:
            query = {"per_page": PAGE_SIZE, "page": len(found) // PAGE_SIZE + 1}
            _, page = client.requester.requestJsonAndCheck("GET", f"/repos/{repository.repository}/{kind}", query)
            found += page
            if not page:
                break
        return found

    try:
        with github_client(config, repository.repository) as client:
            return entries(client, "keys"), entries(client, "hooks")
    except GitHubUnavailable as error:
        what = f"read the deploy keys and webhooks of {repository.repository}"
        return _FAILED(what=what, reason=error)


def _remove(config: GitHubConfig, leftover: Leftover) -> None:
    from flux_tenancy.components.git.github_access import GitHubUnavailable, github_client

    try:
        with github_client(config, leftover.repository.repository) as client:
            client.requester.requestJsonAndCheck("DELETE", f"/repos/{leftover.repository.repository}/{leftover.path}")
    except GitHubUnavailable as error:
        if error.is_not_found:  # Somebody has removed it in the meantime.
            return
        what = f"remove {leftover.label} of {leftover.repository.repository}"
        raise log.run_error(_FAILED(what=what, reason=error)) from None


def _known(state: Iterable[object]) -> set[str] | None:
    """The values in the state, or None if one of them is unreadable: then nobody can say what is not in the state."""
    known: set[str] = set()
    for each in state:
        if not isinstance(each, str):
            return None
        known.add(each)
    return known


def _without_comment(key: str) -> str:
    """Type and data of a public key."""
    return " ".join(key.split()[:2])
