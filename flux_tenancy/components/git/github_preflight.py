"""What GitHub has, before the first resource: repositories in which something is to be registered for the first time,
and deploy keys and webhooks that an update would delete or change.

Repositories where everything is registered already are not checked again, which saves requests of GitHub's rate limit.

The credentials of owners are checked even if nothing new is to be registered: providers without credentials would be
recorded without any in the state, and the next update would show the opposite change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from flux_tenancy.components.config.errors import Problem, present
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.engine import log
from flux_tenancy.components.engine.pulumi_command import refreshes
from flux_tenancy.components.git.config import (
    WEBHOOK_ROOT,
    GitHubConfig,
    GitHubOwner,
    GitHubRepository,
    GitSource,
    Sources,
    github_key_path,
    object_name,
    repository_in,
)
from flux_tenancy.components.git.github import (
    DEPLOY_KEY_TYPE,
    FORGOTTEN,
    NOTHING,
    PROVIDER_TYPE,
    WEBHOOK_TYPE,
    Gone,
    Registration,
    answers,
    registrations,
)
from flux_tenancy.components.vocabulary.manifests import resource_type
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, SOURCE_API

if TYPE_CHECKING:
    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.git.rotation import PreviousKeys


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
        if _fetched_before(name, sources, state) == source.github.repository.lower():
            lost[name] = Message(
                "FT-GIT-014",
                f"{github_key_path(name)}: nothing new is registered there, and everything else is applied: "
                f"{refused[github_key_path(name)].message}",
                "otherwise remove the tenant",
            )
    return lost


def _fetched_before(name: str, sources: Sources, state: State) -> str | None:
    """The repository that a source had in the last update, or None."""
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


_PATHS = {DEPLOY_KEY_TYPE: "keys", WEBHOOK_TYPE: "hooks"}


def gone_registrations(sources: Sources, previous: PreviousKeys, state: State) -> Gone:
    """What this update would delete or change at GitHub and is not there, or archived; logs a warning for each.

    A repository's admins can archive or delete it, its keys and its webhooks at any time. Where GitHub answers 404 or
    403, GitHub's provider fails to delete or update, and the engine then deletes nothing else; of an archived
    repository, it reports as deleted what stays. So both are forgotten (`GitHub.forget`): the update goes on, and its
    tenant leaves. Of what stays as it is, GitHub is asked nothing.

    If GitHub does not answer, or refuses, nothing counts as gone: the provider fails, and says why. Neither does
    anything if the engine refreshes the state, which takes out what is gone: the program may read what was before.

    Source: the Delete functions of resource_github_repository_deploy_key.go and resource_github_repository_webhook.go
    in terraform-provider-github 6.13
    """
    touched = list(_touched(sources, previous, state))
    owners = frozenset(str(outputs["owner"]) for outputs in state.outputs(PROVIDER_TYPE) if outputs.get("owner"))
    if not touched or not owners or refreshes():
        return NOTHING
    github = _with_recorded_credentials(sources, state)
    found = answers(partial(_why_gone, github, owners, state), touched)
    gone = {each: reason for each, reason in found.items() if reason}
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


_ABSENT = "it no longer exists at GitHub, or the credentials have no access to it"


def _why_gone(github: GitHubConfig, owners: Iterable[str], state: State, registration: Registration) -> str:
    """Why nobody can change a deploy key or webhook any more; empty if it is there, or nothing is known of it.

    All owners are asked, since the state does not tell which of them had it.
    """
    outputs = state.resources[registration]
    number = str(outputs["id"]).rpartition(":")[2]  # That of a deploy key is `repository:number`.
    path = f"{_PATHS[registration[0]]}/{number}"
    repositories = [GitHubRepository(repository=f"{owner}/{outputs['repository']}") for owner in sorted(owners)]
    reasons = [_why_gone_from(github, each, path) for each in repositories]
    return next((each for each in reasons if each != _ABSENT), _ABSENT) if all(reasons) else ""


def _why_gone_from(github: GitHubConfig, repository: GitHubRepository, path: str) -> str:
    # Importing GitHub's client takes a third of a second, which updates that delete nothing there do not need.
    from flux_tenancy.components.git.github_access import ARCHIVED, found_at_github, refusal

    found = found_at_github(github, repository, path)
    if not found:
        return _ABSENT if found is not None else ""
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
