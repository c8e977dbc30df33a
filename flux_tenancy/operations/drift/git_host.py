"""The deploy keys and webhooks of a stack at GitHub, compared with what the last update has registered.

A repository's admins can delete them there, register the key again with write access, or lead the webhook elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flux_tenancy.components.git.config import GitHubConfig, GitHubRepository
from flux_tenancy.components.git.github import PROVIDER_TYPE
from flux_tenancy.components.git.github_gone import identity_of
from flux_tenancy.components.git.github_preflight import WORKERS
from flux_tenancy.operations.drift.differences import SECRET_VALUE, Difference, What
from flux_tenancy.operations.drift.managed_fields import MISSING
from flux_tenancy.operations.drift.recorded_state import RecordedState, opened, read_recorded
from flux_tenancy.project.errors import OperationError

UNREAD = "deploy keys and webhooks at GitHub"
_PATHS = {"RepositoryDeployKey": "keys", "RepositoryWebhook": "hooks"}


@dataclass(frozen=True)
class _Registered:
    """What is registered at GitHub.

    Attributes:
        urn: its resource.
        kind: the kind of its resource.
        name: the name of its resource.
        outputs: the resource's outputs.
        repository: its repository.
        github: GitHub with the credentials of the resource's provider.
    """

    urn: str
    kind: str
    name: str
    outputs: Mapping[str, Any]
    repository: GitHubRepository
    github: GitHubConfig


def host_differences(recorded: RecordedState, stack: str, project: Path) -> tuple[list[Difference], list[str]]:
    """How GitHub differs from what the last update has registered, and what of that could not be read.

    Args:
        recorded: the state of the stack.
        stack: name of the stack.
        project: folder of the Pulumi project.
    """
    if all(each["type"] == PROVIDER_TYPE for each in recorded.at_github):
        return [], []
    try:
        registered = [*_registered(read_recorded(stack, project, "--show-secrets"))]
    except OperationError:
        return [], [UNREAD]
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = [*pool.map(_found, registered)]
    found = [
        difference
        for each, answer in zip(registered, answers, strict=True)
        if answer is not None
        for difference in _compared(each, answer)
    ]
    return found, [UNREAD] if None in answers else []


def _registered(recorded: RecordedState) -> Iterator[_Registered]:
    providers = {each["urn"]: opened(each["outputs"]) for each in recorded.at_github if each["type"] == PROVIDER_TYPE}
    for each in recorded.at_github:
        kind = each["type"].rpartition(":")[2]
        provider = providers.get(each.get("provider", "").rpartition("::")[0])
        if kind in _PATHS and provider:
            owner, outputs = provider["owner"], opened(each["outputs"])
            section = {"owners": {owner: identity_of(provider)}, "baseUrl": provider.get("baseUrl")}
            github = GitHubConfig.model_validate({key: value for key, value in section.items() if value})
            repository = GitHubRepository(repository=f"{owner}/{outputs['repository']}")
            yield _Registered(each["urn"], kind, each["urn"].rpartition("::")[2], outputs, repository, github)


def _found(each: _Registered) -> Mapping[str, Any] | None:
    """What GitHub has; empty if it has no such thing any more, None if it does not say."""
    # Importing GitHub's client takes a third of a second, which stacks without GitHub save.
    from flux_tenancy.components.git.github_access import (
        CANNOT_ADMINISTER,
        GitHubUnavailable,
        github_client,
        refusal,
    )

    number = str(each.outputs["id"]).rpartition(":")[2]  # That of a deploy key is `repository:number`.
    path = f"/repos/{each.repository.repository}/{_PATHS[each.kind]}/{number}"
    try:
        with github_client(each.github, each.repository) as client:
            _, found = client.requester.requestJsonAndCheck("GET", path)
            return dict(found)
    except GitHubUnavailable as error:
        if not error.is_not_found:
            return None
        reason = refusal(each.github, each.repository)
        return None if reason is not None and reason.code == CANNOT_ADMINISTER.code else {}


def _compared(each: _Registered, found: Mapping[str, Any]) -> Iterator[Difference]:
    of = partial(
        Difference, kind=each.kind, namespace="", name=f"{each.repository.repository}/{each.name}", urn=each.urn
    )
    if not found:
        yield of(What.MISSING)
        return
    if each.kind == "RepositoryDeployKey":
        if not found.get("read_only"):
            yield of(What.CHANGED, field="readOnly", stack=True, cluster=False)
        return
    config, intended = found.get("config") or {}, each.outputs.get("configuration") or {}
    if config.get("url") != intended.get("url"):
        # The path of a Receiver is known to nobody else.
        yield of(What.CHANGED, field="configuration.url", stack=SECRET_VALUE, cluster=config.get("url", MISSING))
    for field, now, wanted in (
        ("active", found.get("active"), True),
        ("events", found.get("events"), ["push"]),
        ("configuration.insecureSsl", str(config.get("insecure_ssl", "0")) not in ("0", "False"), False),
    ):
        if now != wanted:
            yield of(What.CHANGED, field=field, stack=wanted, cluster=now)
