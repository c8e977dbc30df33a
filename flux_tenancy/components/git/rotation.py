"""Rotation of deploy keys in two steps: the previous key stays registered until Flux has fetched with the new one.

The update with the new key still declares the previous key, as it is in the state. Once the source has been fetched
with the new key, the next update no longer declares the previous one, and its preview shows the deletion. Nothing here
raises an error: the engine deletes nothing if the program fails, and one tenant's source must not block the clean-up of
another's.

Previews and updates decide which keys stay before they register the first resource.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pulumi
from pulumi.output import UNKNOWN

from flux_tenancy.components.cluster.client import ClusterUnavailable
from flux_tenancy.components.config.errors import present
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.engine import log
from flux_tenancy.components.git.config import Sources, object_name, repository_in
from flux_tenancy.components.git.github import (
    RegisteredKey,
    deploy_key_name,
    recorded_keys,
    registered_key,
    source_of_deploy_key,
)
from flux_tenancy.components.keys.ssh_keys import fingerprint
from flux_tenancy.components.sync.status import not_fetched
from flux_tenancy.components.vocabulary.manifests import Find, value_at
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, SOURCE_API, sync_label

if TYPE_CHECKING:
    from flux_tenancy.components.engine.state import State
    from flux_tenancy.components.git.config import GitSource
    from flux_tenancy.components.sync.status import Progress

PreviousKeys = Mapping[str, Sequence[RegisteredKey]]
"""By source, the previous keys that stay registered in addition to its current one."""

Rotations = Mapping[str, pulumi.Output[list[dict[str, str]]]]
"""By source, each previous key and why it stays, as in the stack's outputs."""

_REMOVED_NEXT = "Flux has fetched with the new key; the next update removes this one"
_NOT_PROVEN = "Flux has not fetched with the new key"


def previous_keys(sources: Sources, state: State, find: Find) -> dict[str, list[RegisteredKey]]:
    """The deploy keys of earlier updates that stay, by the name of their source.

    The keys of the source's repository stay until the source has been fetched with its new key. If it is known which of
    them it was last fetched with, only that one stays. If the source no longer has a key, or has another repository,
    none stays.
    """
    found: dict[str, list[RegisteredKey]] = {}
    keys = recorded_keys(state)
    for name, source in sources.by_name.items():
        if source.github is None or (new := registered_key(source)) is None:
            continue
        previous = [
            key
            for key in keys
            if source_of_deploy_key(key.name) == name
            and key.name != deploy_key_name(name, new)
            and key.repository.lower() == source.github.name.lower()
        ]
        if not previous:
            continue
        rotation = _read_rotation(sources, name, find)
        if rotation.lacking is not None and not rotation.moves:
            found[name] = [key for key in previous if rotation.proves(key.public)] or previous
    return found


def rotations(
    sources: Sources, previous: PreviousKeys, progress: pulumi.Output[dict[str, Progress]], find: Find
) -> Rotations:
    """Each previous key and why it stays, once the syncs have settled. Logs one line for each rotation.

    In a preview the value is unknown: it depends on what the update finds, and a saved plan would fix it.
    """

    def previous_of(name: str, keys: Sequence[RegisteredKey]) -> pulumi.Output[list[dict[str, str]]]:
        async def look(_: Any) -> list[dict[str, str]]:
            rotation = await asyncio.to_thread(_read_rotation, sources, name, find)
            _log(name, sources.by_name[name], keys, rotation.lacking)
            why = _REMOVED_NEXT if rotation.lacking is None else f"{_NOT_PROVEN}: {rotation.lacking}"
            return [{"fingerprint": fingerprint(key.public), "stays": why} for key in keys]

        if pulumi.runtime.is_dry_run():
            return pulumi.Output.from_input(cast(list[dict[str, str]], UNKNOWN))
        return progress.apply(look)

    return {name: previous_of(name, keys) for name, keys in previous.items()}


@dataclass(frozen=True)
class _Rotation:
    """The progress of a rotation.

    Attributes:
        lacking: why it is not proven that the source has been fetched with its key; None if it is.
        moves: whether this update changes the source's repository.
        proves: whether it is proven that the source has been fetched with a public key.
    """

    lacking: str | None
    moves: bool
    proves: Callable[[str], bool]


def _read_rotation(sources: Sources, name: str, find: Find) -> _Rotation:
    source, home = sources.by_name[name], sources.homes[name]

    def find_here(version: str, kind: str, name: str) -> Mapping[str, Any] | None:
        return find({"apiVersion": version, "kind": kind, "metadata": {"namespace": home, "name": name}})

    key = present(registered_key(source), "only a source with a key has previous keys")
    try:
        found = find_here(SOURCE_API, GIT_REPOSITORY, object_name(name))
        referred = value_at(found, ("spec", "secretRef", "name"))
        secret = find_here("v1", "Secret", referred) if referred else None
    except ClusterUnavailable as error:
        return _Rotation(str(error), moves=False, proves=lambda _: False)
    return _Rotation(
        lacking_proof(found, secret, key.public),
        moves=found is not None and repository_in(found["spec"]["url"]) != repository_in(source.url),
        proves=lambda public: lacking_proof(found, secret, public) is None,
    )


def lacking_proof(source: Mapping[str, Any] | None, secret: Mapping[str, Any] | None, public_key: str) -> str | None:
    """Why it is not proven that a source has been fetched with a deploy key; None where it is.

    Args:
        source: the GitRepository as the cluster has it, or None.
        secret: the Secret that it refers to, or None.
        public_key: the public half of the key, as one line without a comment.
    """
    encoded = ((secret or {}).get("data") or {}).get("identity.pub", "")
    if source is not None and b64decode(encoded).decode(errors="replace").strip() != public_key:
        return "the source does not refer to it yet"
    return not_fetched(source)


def _log(name: str, source: GitSource, keys: Sequence[RegisteredKey], lacking: str | None) -> None:
    new = present(registered_key(source), "only a source with a key has previous keys")
    repository = present(source.github, "only a source with a repository has such keys").repository
    previous = ", ".join(fingerprint(key.public) for key in keys)
    if lacking is None:
        log.info(
            Message(
                "FT-GIT-030",
                f"{sync_label(name)}: Flux has fetched with the new deploy key {new.fingerprint}; the "
                f"next `pulumi up` removes the previous one, {previous}, "
                f"from {repository}",
            )
        )
    else:
        log.warn(
            Message(
                "FT-GIT-031",
                f"{sync_label(name)}: Flux has not fetched with the new deploy key {new.fingerprint}: "
                f"{lacking}; the previous key, {previous}, "
                f"stays registered at {repository}",
                "once Flux has fetched, run `pulumi up` again to remove it",
            )
        )
