"""Deploy keys and webhooks that this update deletes or changes, and that GitHub does not have, or let change, any more.

A repository's admins can archive or delete it, its keys and its webhooks at any time. Where GitHub answers 404 or 403,
GitHub's provider fails to delete or update, and the engine then deletes nothing else; of an archived repository, it
reports as deleted what stays. So both are forgotten (`GitHub.forget`): the update goes on, and its tenant leaves.

Of what stays as it is, GitHub is asked nothing, which saves requests of its rate limit.

Source: the Delete functions of resource_github_repository_deploy_key.go and resource_github_repository_webhook.go in
terraform-provider-github 6.13
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.engine import log
from flux_tenancy.components.engine.pulumi_command import refreshes
from flux_tenancy.components.git.config import GitHubConfig, GitHubOwner, GitHubRepository
from flux_tenancy.components.git.github import (
    DEPLOY_KEY_TYPE,
    FORGOTTEN,
    PROVIDER_TYPE,
    WEBHOOK_TYPE,
    Registration,
    registrations,
)
from flux_tenancy.components.git.github_preflight import WORKERS
from flux_tenancy.components.git.sources import WEBHOOK_ROOT

if TYPE_CHECKING:
    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.git.rotation import PreviousKeys
    from flux_tenancy.components.git.sources import Sources

_PATHS = {DEPLOY_KEY_TYPE: "keys", WEBHOOK_TYPE: "hooks"}


@dataclass(frozen=True)
class Gone:
    """What GitHub does not have any more.

    Attributes:
        urns: the URN of each deploy key and webhook in the state.
        github: GitHub with the credentials of all owners that something was registered for.
        owners: these owners.
    """

    urns: Mapping[Registration, str] = field(default_factory=dict)
    github: GitHubConfig = field(default_factory=GitHubConfig)
    owners: frozenset[str] = frozenset()


NOTHING = Gone()


def gone_registrations(sources: Sources, previous: PreviousKeys, state: State) -> Gone:
    """What this update would delete or change at GitHub and is not there; logs a warning for each.

    If GitHub does not answer, or refuses, nothing counts as gone: the provider fails with the reason. Neither does
    anything if the engine refreshes the state, which takes out what is gone: the program may read what was before.

    Args:
        sources: the Git sources of the stack.
        previous: the deploy keys of earlier updates that stay.
        state: the stack's state.
    """
    touched = list(_touched(sources, previous, state))
    owners = frozenset(str(outputs["owner"]) for outputs in state.outputs(PROVIDER_TYPE) if outputs.get("owner"))
    if not touched or not owners or refreshes():
        return NOTHING
    github = _with_recorded_credentials(sources, state)
    with ThreadPoolExecutor(WORKERS) as pool:
        reasons = zip(touched, pool.map(partial(_why_gone, github, owners, state), touched), strict=True)
    gone = {each: reason for each, reason in reasons if reason}
    for each, reason in gone.items():
        log.warn(
            Message(
                "FT-GIT-015",
                f"{_label(each, state)} of {state.resources[each]['repository']}: {reason}; the next update removes it "
                "from the state without deleting it",
                "if it is still at GitHub, delete it there",
            )
        )
    return Gone({each: state.urns[each] for each in gone}, github, owners) if gone else NOTHING


def _touched(sources: Sources, previous: PreviousKeys, state: State) -> Iterator[Registration]:
    """The deploy keys and webhooks in the state that this update deletes, replaces or updates."""
    stays = {(DEPLOY_KEY_TYPE, key.name) for keys in previous.values() for key in keys}
    own_url = f"{(sources.webhook_url or '').rstrip('/')}{WEBHOOK_ROOT}"
    for name, source in sources.by_name.items():
        for each in registrations(name, source) & state.resources.keys():
            outputs = state.resources[each]
            moves = source.github is None or outputs.get("repository") != source.github.name
            if not moves and (each[0] == DEPLOY_KEY_TYPE or _url(outputs).startswith(own_url)):
                stays.add(each)
    for (kind, name), outputs in state.resources.items():
        if kind in _PATHS and (kind, name) not in stays and not name.startswith(FORGOTTEN) and outputs.get("id"):
            yield kind, name


def _url(webhook: Mapping[str, Any]) -> str:
    configuration = webhook.get("configuration")
    return str(configuration.get("url")) if isinstance(configuration, Mapping) else ""


def _why_gone(github: GitHubConfig, owners: frozenset[str], state: State, registration: Registration) -> str:
    """Why no owner can change a deploy key or webhook, or nothing; the state does not tell which of them had it."""
    outputs = state.resources[registration]
    number = str(outputs["id"]).rpartition(":")[2]  # That of a deploy key is `repository:number`.
    path = f"{outputs['repository']}/{_PATHS[registration[0]]}/{number}"
    reasons = [_why_missing(github, owner, path) for owner in sorted(owners)]
    return next((each for each in reasons if each != _ABSENT), _ABSENT) if all(reasons) else ""


_ABSENT = "it no longer exists at GitHub, or the credentials have no access to it"


def _why_missing(github: GitHubConfig, owner: str, path: str) -> str:
    # Importing GitHub's client takes a third of a second, which updates that delete nothing there do not need.
    from flux_tenancy.components.git.github_access import (
        ARCHIVED,
        CANNOT_ADMINISTER,
        GitHubUnavailable,
        github_client,
        refusal,
    )

    repository = GitHubRepository(repository=f"{owner}/{path.partition('/')[0]}")
    try:
        with github_client(github, repository) as client:
            client.requester.requestJsonAndCheck("GET", f"/repos/{owner}/{path}")
    except GitHubUnavailable as error:
        if not error.is_not_found:
            return ""
        # Whoever may not administer a repository gets the same answer about a key that is there.
        reason = refusal(github, repository)
        return _ABSENT if reason is None or reason.code != CANNOT_ADMINISTER.code else ""
    reason = refusal(github, repository)
    return reason.text if reason is not None and reason.code == ARCHIVED.code else ""


def _with_recorded_credentials(sources: Sources, state: State) -> GitHubConfig:
    """GitHub with the credentials of the last update for owners that the stack does not have any more.

    The provider deletes with them, too. Other credentials may not see a repository that is there.
    """
    known = {owner.lower() for owner in (*sources.github.owners, *sources.github_owners)}
    recorded = {
        outputs["owner"]: identity_of(outputs)
        for outputs in state.outputs(PROVIDER_TYPE)
        if outputs.get("owner") and outputs["owner"].lower() not in known
    }
    return sources.github.model_copy(update={"owners": {**sources.github.owners, **recorded}})


def identity_of(outputs: Mapping[str, Any]) -> GitHubOwner:
    """The credentials of a provider in the state, where an App is JSON in a string."""
    if (app := outputs.get("appAuth")) is None:
        return GitHubOwner.model_validate({"token": outputs.get("token") or None})
    found = json.loads(app)
    keys = {"appId": "id", "installationId": "installationId", "privateKey": "pemFile"}
    return GitHubOwner.model_validate({"app": {key: found[recorded] for key, recorded in keys.items()}})


def _label(registration: Registration, state: State) -> str:
    outputs = state.resources[registration]
    if registration[0] == WEBHOOK_TYPE:
        return f"the webhook {outputs['id']}"
    return f"the deploy key {printable(str(outputs['title']))!r}"
