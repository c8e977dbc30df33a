"""Whether the repositories exist in which something is to be registered for the first time.

Repositories where everything is registered already are not checked again, which saves requests of GitHub's rate limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from components.config.errors import Problem
from components.engine.state import State
from components.git.config import GitSource
from components.git.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE, deploy_key_name, registered_key
from components.git.sources import Sources, github_key_path

WORKERS = 8


def repository_problems(sources: Sources, new: Mapping[str, GitSource], stack_file: str) -> list[Problem]:
    """Why something new (`unregistered`) cannot be registered at GitHub."""
    repositories = {name: source.github for name, source in new.items() if source.github is not None}
    if not repositories:
        return []
    # Importing GitHub's client takes a third of a second, which updates without anything new do not need.
    from components.git.github_access import refusal

    with ThreadPoolExecutor(WORKERS) as pool:
        reasons = dict(
            zip(repositories, pool.map(partial(refusal, sources.github), repositories.values()), strict=True)
        )
    return [Problem(stack_file, github_key_path(name), reason) for name, reason in reasons.items() if reason]


def unregistered(sources: Sources, state: State) -> dict[str, GitSource]:
    """The sources, by name, whose deploy key or webhook is to be registered and not yet in the state."""
    keys, webhooks = state.names(DEPLOY_KEY_TYPE), state.names(WEBHOOK_TYPE)
    new: dict[str, GitSource] = {}
    for name, source in sources.by_name.items():
        if source.github is None:
            continue
        key = registered_key(source)
        if (key and deploy_key_name(name, key) not in keys) or (source.webhook and name not in webhooks):
            new[name] = source
    return new
