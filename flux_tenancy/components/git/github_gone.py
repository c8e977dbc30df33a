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
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from flux_tenancy.components.config.errors import present
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.engine import log
from flux_tenancy.components.engine.pulumi_command import refreshes
from flux_tenancy.components.git.config import GitHubConfig, GitHubOwner, GitHubRepository
from flux_tenancy.components.git.github import (
    ALL,
    DEPLOY_KEY_TYPE,
    FORGOTTEN,
    PROVIDER_TYPE,
    WEBHOOK_TYPE,
    Registration,
    answers,
    registrations,
    source_of_deploy_key,
)
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
    """

    urns: Mapping[Registration, str] = field(default_factory=dict)
    github: GitHubConfig = field(default_factory=GitHubConfig)
    owners: frozenset[str] = frozenset()


NOTHING = Gone()


def gone_registrations(sources: Sources, previous: PreviousKeys, state: State) -> Gone:
    """What this update would delete or change at GitHub and is not there; logs a warning for each.

    If GitHub does not answer, or refuses, nothing counts as gone: a warning has the reason, and the provider fails.
    Neither does anything if the engine refreshes the state, which takes out what is gone: the program may read what was
    before.
    """
    touched = list(_touched(sources, previous, state))
    owners = frozenset(str(outputs["owner"]) for outputs in state.outputs(PROVIDER_TYPE) if outputs.get("owner"))
    if not touched or not owners or refreshes():
        return NOTHING
    github = _with_recorded_credentials(sources, state)
    found = answers(partial(_answer, github, owners, state), touched)
    for (kind, name), answer in found.items():
        if answer.refusal:
            source = source_of_deploy_key(name) if kind == DEPLOY_KEY_TYPE else name
            pattern = ALL if answer.unreachable else f"**{kind.rpartition(':')[2]}::{name}"
            log.warn(
                Message(
                    "FT-GIT-017",
                    f"tenants.{source}: {_label((kind, name), state)} of {state.resources[kind, name]['repository']}: "
                    f"{answer.refusal}; the update fails if GitHub refuses to delete or change it",
                    f"until that is solved, update everything else: `pulumi up --exclude '{pattern}'`",
                )
            )
    gone = {each: answer.gone for each, answer in found.items() if answer.gone}
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


class _Answer(NamedTuple):
    """What GitHub says of a deploy key or webhook.

    Attributes:
        gone: why nobody can change it any more; empty if it is there, or nothing is known of it.
        refusal: why nothing is known of it.
        unreachable: whether that is because GitHub has not answered at all.
    """

    gone: str = ""
    refusal: str = ""
    unreachable: bool = False


def _answer(github: GitHubConfig, owners: frozenset[str], state: State, registration: Registration) -> _Answer:
    """The answer about a deploy key or webhook to all owners; the state does not tell which of them had it."""
    outputs = state.resources[registration]
    number = str(outputs["id"]).rpartition(":")[2]  # That of a deploy key is `repository:number`.
    path = f"{outputs['repository']}/{_PATHS[registration[0]]}/{number}"
    answers = [_answer_to(github, owner, path) for owner in sorted(owners)]
    if all(each.gone for each in answers):
        return _Answer(next((each.gone for each in answers if each.gone != _ABSENT), _ABSENT))
    is_there = any(each == _Answer() for each in answers)
    return _Answer() if is_there else next(each for each in answers if each.refusal)


_ABSENT = "it no longer exists at GitHub, or the credentials have no access to it"


def _answer_to(github: GitHubConfig, owner: str, path: str) -> _Answer:
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
            return _Answer(refusal=error.message.text, unreachable=error.is_unreachable)
        # Whoever may not administer a repository gets the same answer about a key that is there.
        reason = refusal(github, repository)
        cannot_know = reason is not None and reason.code == CANNOT_ADMINISTER.code
        return _Answer(refusal=present(reason, "it has a code").text) if cannot_know else _Answer(_ABSENT)
    reason = refusal(github, repository)
    return _Answer(reason.text) if reason is not None and reason.code == ARCHIVED.code else _Answer()


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
