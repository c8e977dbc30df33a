"""A Git source with everything it needs: the key at GitHub, credentials, GitRepository, Receiver and webhook."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from secrets import token_urlsafe

import pulumi

from components.cluster.generated_names import generated_names, referring
from components.cluster.manifests import register
from components.engine.update_plans import made_once
from components.git.config import GitSource
from components.git.github import (
    DEPLOY_KEY_TYPE,
    WEBHOOK_TYPE,
    GitHub,
    GitHubArgs,
    RegisteredKey,
    Registration,
    deploy_key_name,
    registered_key,
)
from components.git.github_gone import NOTHING, Gone
from components.git.source_objects import source_objects, webhook_path, webhook_secret
from components.git.sources import Sources
from components.vocabulary.object_meta import ObjectMeta

TOKEN_BYTES = 32


@dataclass(frozen=True)
class GitAccess:
    """What all Git sources of a stack share.

    Attributes:
        known_hosts: the stack's own host keys.
        github: GitHub, or None where no source registers anything there.
        webhook_url: where Git hosts reach this cluster's Receivers, or None.
        previous_keys: by source, the previous deploy keys that stay registered (`components.git.rotation`).
        lost: what is not registered, since its repository is gone, or it was itself.
    """

    known_hosts: Sequence[str]
    github: GitHub | None
    webhook_url: str | None
    previous_keys: Mapping[str, Sequence[RegisteredKey]] = field(default_factory=dict)
    lost: Collection[Registration] = frozenset()


@dataclass(frozen=True)
class RegisteredSource:
    """The resources of a source.

    Attributes:
        source: the GitRepository.
        receiver: its Receiver, or None.
        webhook: URL of the webhook, or None.
        registered: all of its resources, including those at the Git host.
    """

    source: pulumi.CustomResource
    receiver: pulumi.CustomResource | None
    webhook: pulumi.Output[str] | None
    registered: tuple[pulumi.Resource, ...]


def git_access(
    sources: Sources,
    previous_keys: Mapping[str, Sequence[RegisteredKey]] | None = None,
    lost: Collection[Registration] = frozenset(),
    gone: Gone = NOTHING,
) -> GitAccess:
    """What the sources of a stack share; without GitHub if nothing is registered there, nor to be forgotten.

    Args:
        sources: the Git sources of the stack.
        previous_keys: the previous deploy keys that stay, by source.
        lost: what cannot be registered, since its repository is gone.
        gone: what was registered and GitHub does not have any more.
    """
    owners = sources.github_owners or gone.owners
    github = GitHub("github", GitHubArgs(gone.github if gone.urns else sources.github, owners)) if owners else None
    for each, urn in gone.urns.items():
        assert github is not None  # The owners of what is gone are known.
        github.forget(each, urn)
    return GitAccess(sources.known_hosts, github, sources.webhook_url, previous_keys or {}, {*lost, *gone.urns})


def register_source(
    meta: ObjectMeta,
    source: GitSource,
    access: GitAccess,
    parent: pulumi.Resource,
    after: Sequence[pulumi.Input[pulumi.Resource]],
) -> RegisteredSource:
    """Register a source's resources, ordered so that it works immediately and its removal leaves no key behind.

    Args:
        meta: name, namespace and labels of its objects.
        source: the source.
        access: what all sources of the stack share.
        parent: the component that the source belongs to.
        after: the resources to depend on.
    """
    objects = source_objects(meta, source, access.known_hosts)
    earlier: list[pulumi.Resource] = []

    def opts(*more: pulumi.Resource, ignore_changes: list[str] | None = None) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(
            parent=parent, depends_on=[*after, *earlier, *more], ignore_changes=ignore_changes
        )

    if (key := registered_key(source)) is not None:
        assert source.github is not None and access.github is not None  # Otherwise there is no key to register.
        previous = [
            access.github.register_key(each, source.github, opts())
            for each in access.previous_keys.get(meta.prefix, ())
        ]
        if (DEPLOY_KEY_TYPE, deploy_key_name(meta.prefix, key)) not in access.lost:
            earlier.append(access.github.deploy_key(meta.prefix, key, source.github, opts()))
        earlier += previous
    secrets = [register(secret, opts()) for secret in objects.secrets]
    earlier += secrets
    names = generated_names(zip(objects.secrets, secrets, strict=True))
    registered = register(referring(objects.source, names), opts())
    if objects.receiver is None:
        return RegisteredSource(registered, None, None, (*earlier, registered))

    # Generated once: later runs and both ends of the webhook use the token in the state.
    drawn = made_once(partial(token_urlsafe, TOKEN_BYTES))
    token_data = drawn.apply(lambda text: webhook_secret(meta, text)["data"])
    token_secret = register(webhook_secret(meta, "") | {"data": token_data}, opts(ignore_changes=["data"]))
    # The SDK sets an attribute for each property of a resource.
    data: pulumi.Output[dict[str, str]] = token_secret.data  # type: ignore[attr-defined]
    token = data["token"].apply(lambda encoded: b64decode(encoded).decode())
    receiver = register(objects.receiver, opts(token_secret, registered))
    url = token.apply(lambda text: f"{(access.webhook_url or '').rstrip('/')}{webhook_path(text, meta)}")
    announcing: list[pulumi.Resource] = [token_secret, receiver]
    if source.github is not None and (WEBHOOK_TYPE, meta.prefix) not in access.lost:
        assert access.github is not None  # `git_access` creates it for every source that sets `github`.
        announcing.append(access.github.webhook(meta.prefix, url, token, source.github, opts(receiver)))
    return RegisteredSource(registered, receiver, url, (*earlier, registered, *announcing))
