"""Rotating deploy keys in two steps: a previous key stays registered until Flux has fetched with the new one.

The update that brings the new key still declares the previous one, from the state. Once the source has been fetched
with the new key, the next update no longer does, and its preview shows the deletion. Nothing here fails: the engine
deletes nothing in an update whose program fails, and one tenant's source must not keep what another leaves behind.

Which keys stay is decided before the first resource, in a preview as in an update.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import pulumi
from pulumi.output import UNKNOWN

from components.cluster.client import ClusterUnavailable
from components.cluster.manifests import Manifest
from components.engine.state import State
from components.git.config import GitSource
from components.git.fetch_proof import lacking_proof, secret_name
from components.git.github import RegisteredKey, deploy_key_name, recorded_keys, registered_key, source_of_deploy_key
from components.git.sources import Sources
from components.keys.ssh_keys import fingerprint
from components.sync.names import PLATFORM, SOURCE_API
from components.sync.status import Progress

Find = Callable[[Manifest], Mapping[str, Any] | None]
"""Returns what the cluster has by the kind, namespace and name of an object, or None."""

PreviousKeys = Mapping[str, Sequence[RegisteredKey]]
"""By source, the keys that stay registered beside its own."""

Rotations = Mapping[str, pulumi.Output[list[dict[str, str]]]]
"""By source, each previous key with why it stays, as the stack's outputs have it."""

_REMOVED_NEXT = "Flux has fetched with the new key; the next update removes this one"
_NOT_PROVEN = "Flux has not fetched with the new key"


def previous_keys(sources: Sources, state: State, find: Find) -> dict[str, list[RegisteredKey]]:
    """The deploy keys of earlier updates that stay, by the name of their source.

    They are those that open the source's repository, until the source has been fetched with its new key; only the last
    one that it has been fetched with, where that is known. Without a new key, or at another repository, nobody needs
    them any more.

    Args:
        sources: the Git sources of the stack.
        state: what earlier updates of this stack have left.
        find: looks up an object of the cluster.
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
        step = _step(sources, name, find)
        if step.lacking is not None and not step.moves:
            found[name] = [key for key in previous if step.proves(key.public)] or previous
    return found


def rotations(
    sources: Sources, previous: PreviousKeys, progress: pulumi.Output[dict[str, Progress]], find: Find
) -> Rotations:
    """Each previous key and why it stays, once the syncs have settled, with one line for each rotation.

    In a preview it is unknown: what the update will find cannot be foretold, and an update plan holds it to the letter.

    Args:
        sources: the Git sources of the stack.
        previous: the keys that stay.
        progress: how far each sync has come.
        find: looks up an object of the cluster.
    """

    def told(name: str, keys: Sequence[RegisteredKey]) -> pulumi.Output[list[dict[str, str]]]:
        async def look(_: Any) -> list[dict[str, str]]:
            step = await asyncio.to_thread(_step, sources, name, find)
            _tell(name, sources.by_name[name], keys, step.lacking)
            why = _REMOVED_NEXT if step.lacking is None else f"{_NOT_PROVEN}: {step.lacking}"
            return [{"fingerprint": fingerprint(key.public), "stays": why} for key in keys]

        if pulumi.runtime.is_dry_run():
            return pulumi.Output.from_input(cast(list[dict[str, str]], UNKNOWN))
        return progress.apply(look)

    return {name: told(name, keys) for name, keys in previous.items()}


@dataclass(frozen=True)
class _Step:
    """How far a rotation is.

    Attributes:
        lacking: why it is not proven that the source has been fetched with its key; None where it is.
        moves: whether this update leads the source to another repository.
        proves: whether it is proven that the source has been fetched with such a public key.
    """

    lacking: str | None
    moves: bool
    proves: Callable[[str], bool]


def _step(sources: Sources, name: str, find: Find) -> _Step:
    source, home = sources.by_name[name], sources.homes[name]

    def find_here(version: str, kind: str, name: str) -> Mapping[str, Any] | None:
        return find({"apiVersion": version, "kind": kind, "metadata": {"namespace": home, "name": name}})

    key = registered_key(source)
    assert key is not None  # Only then it has a previous one.
    try:
        found = find_here(SOURCE_API, source.kind, name)
        secret = find_here("v1", "Secret", referred) if (referred := secret_name(found)) else None
    except ClusterUnavailable as error:
        return _Step(str(error), moves=False, proves=lambda _: False)
    return _Step(
        lacking_proof(found, secret, key.public),
        moves=found is not None and _repository(found["spec"]["url"]) != _repository(source.url),
        proves=lambda public: lacking_proof(found, secret, public) is None,
    )


def _repository(url: str) -> str:
    """What a URL says of the repository, whatever the host is called and however it is reached."""
    return urlsplit(url).path.strip("/").removesuffix(".git").lower()


def _tell(name: str, source: GitSource, keys: Sequence[RegisteredKey], lacking: str | None) -> None:
    whose = "the platform's own sync" if name == PLATFORM.name else f"tenant {name}"
    new, old = registered_key(source), ", ".join(fingerprint(key.public) for key in keys)
    assert new is not None and source.github is not None  # Only then it has a previous one.
    if lacking is None:
        pulumi.log.info(
            f"{whose}: Flux has fetched with the new deploy key {new.fingerprint}; the next `pulumi up` removes the "
            f"previous one, {old}, from {source.github.repository}"
        )
    else:
        pulumi.log.warn(
            f"{whose}: Flux has not fetched with the new deploy key {new.fingerprint}: {lacking}. The previous one, "
            f"{old}, stays registered at {source.github.repository} until it has and `pulumi up` is run again"
        )
