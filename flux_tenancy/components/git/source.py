"""What a Git source needs: the key at GitHub, credentials, public keys, GitRepository, Receiver and webhook.

Source: `flux create secret git`, `flux create source git` and `flux create receiver` of Flux's reference"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from secrets import token_urlsafe
from typing import TYPE_CHECKING

import pulumi

from flux_tenancy.components.config.errors import present
from flux_tenancy.components.config.section import merged
from flux_tenancy.components.engine.pulumi_command import excludes
from flux_tenancy.components.engine.state import made_once
from flux_tenancy.components.git.config import WEBHOOK_ROOT
from flux_tenancy.components.git.github import (
    ALL,
    DEPLOY_KEY_TYPE,
    NOTHING,
    WEBHOOK_TYPE,
    GitHub,
    Gone,
    RegisteredKey,
    Registration,
    new_key,
    registered_key,
)
from flux_tenancy.components.keys.known_hosts import lines_for
from flux_tenancy.components.keys.signing_keys import suffix_of
from flux_tenancy.components.keys.ssh_keys import read_private_key
from flux_tenancy.components.plan import Make, Planned, Registered, Stage, key_of, register
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, SOURCE_API, ObjectMeta, SecretPurpose

if TYPE_CHECKING:
    from flux_tenancy.components.git.config import (
        CommitVerification,
        GitHubAppCredentials,
        GitHubRepository,
        GitSource,
        Sources,
        Webhook,
    )
    from flux_tenancy.components.vocabulary.manifests import Manifest


NOTIFICATION_API = "notification.toolkit.fluxcd.io/v1"
DEFAULT_BRANCH = "main"
# GitHub and GitLab check only the token.
ANY_USERNAME = "git"

# Names of the push events of each kind of Git host. Source: https://fluxcd.io/flux/components/notification/receivers/#events
PUSH_EVENTS: Mapping[str, tuple[str, ...]] = {
    "github": ("ping", "push"),
    "gitlab": ("Push Hook", "Tag Push Hook"),
    "bitbucket": ("repo:refs_changed",),
    "generic-hmac": (),
}


def source_objects(meta: ObjectMeta, source: GitSource, known_hosts: Sequence[str]) -> list[Manifest]:
    """The Secrets with credentials and public keys, whose names are generated, and last the GitRepository.

    It refers to them as `components.plan` describes.
    """
    spec: Manifest = {
        "url": source.url,
        "ref": _reference(source),
        "interval": source.interval,
        "timeout": source.timeout,
    }
    if source.provider is not None:
        spec |= {"provider": source.provider, "serviceAccountName": source.service_account_name}
    if source.suspend:
        spec["suspend"] = True
    secrets = []
    if credentials := credentials_of(source, known_hosts):
        secrets.append(meta.generated_secret(SecretPurpose.GIT, credentials))
        spec["secretRef"] = {"name": meta.secret_reference(SecretPurpose.GIT)}
    if source.github_app is not None:
        spec["provider"] = "github"
    if source.verify is not None:
        secrets.append(meta.generated_secret(SecretPurpose.SIGNERS, _public_keys(source.verify)))
        reference = {"name": meta.secret_reference(SecretPurpose.SIGNERS)}
        spec["verify"] = {"mode": source.verify.mode, "secretRef": reference}
    manifest = {"apiVersion": SOURCE_API, "kind": GIT_REPOSITORY, "metadata": meta.metadata(meta.name)}
    manifest["spec"] = merged(spec, source.further)
    return [*secrets, manifest]


def credentials_of(source: GitSource, known_hosts: Sequence[str]) -> dict[str, str]:
    """The entries of a source's Secret, not encoded; empty for a public repository.

    Source: https://fluxcd.io/flux/components/source/gitrepositories/#secret-reference
    """
    data: dict[str, str] = {}
    if source.deploy_key is not None:
        key = read_private_key(source.deploy_key.get_secret_value())
        data = {
            "identity": key.private,
            "identity.pub": key.public + "\n",
            "known_hosts": lines_for(source.url, known_hosts),
        }
    elif source.https is not None and source.https.bearer_token is not None:
        data = {"bearerToken": source.https.bearer_token.get_secret_value().strip()}
    elif source.https is not None and source.https.password is not None:
        data = {
            "username": source.https.username or ANY_USERNAME,
            "password": source.https.password.get_secret_value().strip(),
        }
    elif source.github_app is not None:
        data = _app_credentials(source.github_app)
    if source.certificate_authority is not None:
        data["ca.crt"] = source.certificate_authority
    return data


def webhook_secret(meta: ObjectMeta, token: str) -> Manifest:
    """The Secret with the token that the Git host and the Receiver share."""
    return meta.secret(meta.webhook_secret_name, {"token": token})


def webhook_path(token: str, meta: ObjectMeta) -> str:
    """The path at which notification-controller receives the webhooks for a source's Receiver.

    Source: https://fluxcd.io/flux/components/notification/receivers/#webhook-path
    """
    return WEBHOOK_ROOT + hashlib.sha256(f"{token}{meta.name}{meta.namespace}".encode()).hexdigest()


def _reference(source: GitSource) -> Manifest:
    given = {key: value for key in ("branch", "tag", "semver", "commit") if (value := getattr(source, key)) is not None}
    return given or {"branch": DEFAULT_BRANCH}


def _app_credentials(app: GitHubAppCredentials) -> dict[str, str]:
    """Source: https://fluxcd.io/flux/components/source/gitrepositories/#github"""
    data = {
        "githubAppID": str(app.app_id),
        "githubAppInstallationID": str(app.installation_id) if app.installation_id is not None else None,
        "githubAppInstallationOwner": app.installation_owner,
        "githubAppPrivateKey": app.private_key.get_secret_value().strip() + "\n",
        "githubAppBaseURL": app.base_url,
    }
    return {key: value for key, value in data.items() if value is not None}


def _public_keys(verification: CommitVerification) -> dict[str, str]:
    return {f"{name}{suffix_of(key)}": key for name, key in verification.keys.items()}


def _receiver(meta: ObjectMeta, webhook: Webhook) -> Manifest:
    return {
        "apiVersion": NOTIFICATION_API,
        "kind": "Receiver",
        "metadata": meta.metadata(meta.name),
        "spec": {
            "type": webhook.type,
            "events": list(PUSH_EVENTS[webhook.type]),
            "secretRef": {"name": meta.webhook_secret_name},
            # Only this source, in the Receiver's own namespace, so that a leaked token can trigger nothing else.
            "resources": [{"apiVersion": SOURCE_API, "kind": GIT_REPOSITORY, "name": meta.name}],
        },
    }


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


def git_access(
    sources: Sources,
    previous_keys: Mapping[str, Sequence[RegisteredKey]] | None = None,
    lost: Collection[Registration] = frozenset(),
    gone: Gone = NOTHING,
) -> GitAccess:
    """What the sources of a stack share; without GitHub if nothing is registered there, nor to be forgotten.

    The same if GitHub is excluded: the engine then keeps what it has in the state. It would configure the provider of
    whatever is registered, excluded or not, which fails while GitHub does not answer.

    Args:
        previous_keys: the previous deploy keys that stay, by source.
        lost: what cannot be registered, since its repository is gone.
        gone: what was registered and GitHub does not have any more.
    """
    owners = sources.github_owners or gone.owners
    if not owners or excludes(ALL):
        return GitAccess(sources.known_hosts, None, sources.webhook_url)
    github = GitHub("github", gone.github if gone.urns else sources.github, owners)
    for each, urn in gone.urns.items():
        github.forget(each, urn)
    return GitAccess(sources.known_hosts, github, sources.webhook_url, previous_keys or {}, {*lost, *gone.urns})


def planned_source(meta: ObjectMeta, source: GitSource, access: GitAccess) -> list[Planned]:
    """What a source needs, in an order in which it works immediately and its removal leaves no key behind.

    Args:
        access: what all sources of the stack share; without GitHub, nothing is planned there.
    """
    *secrets, manifest = source_objects(meta, source, access.known_hosts)
    planned = _deploy_keys(meta, source, access)
    keys = tuple(each.key for each in planned)
    planned += [Planned(Stage.CONTENT, secret, needs=keys) for secret in secrets]
    earlier = tuple(each.key for each in planned)
    repository = Planned(Stage.CONTENT, manifest, needs=earlier)
    planned.append(repository)
    if source.webhook is None:
        return planned
    token = Planned(Stage.CONTENT, webhook_secret(meta, ""), needs=earlier, make=partial(_with_drawn_token, meta))
    receiver = Planned(Stage.CONTENT, _receiver(meta, source.webhook), needs=(*earlier, token.key, repository.key))
    planned += [token, receiver]
    if access.github is not None and source.github is not None and (WEBHOOK_TYPE, meta.prefix) not in access.lost:
        make = partial(_webhook, meta, access.webhook_url, access.github, source.github)
        planned.append(_at_github("Webhook", meta.prefix, make, (*earlier, receiver.key)))
    return planned


def webhook_url(meta: ObjectMeta, base: str | None, registered: Registered) -> pulumi.Output[str] | None:
    """The URL at which a source's Receiver gets webhooks; None without a Receiver.

    Args:
        registered: the resources of the source's owner, by key.
    """
    if (secret := registered.get(key_of(webhook_secret(meta, "")))) is None:
        return None
    return _token_in(secret).apply(lambda text: f"{(base or '').rstrip('/')}{webhook_path(text, meta)}")


def _deploy_keys(meta: ObjectMeta, source: GitSource, access: GitAccess) -> list[Planned]:
    """The source's keys at GitHub: the previous ones that stay, and its own."""
    github, repository, key = access.github, source.github, registered_key(source)
    if github is None or repository is None or key is None:
        return []
    keys = [*access.previous_keys.get(meta.prefix, ())]
    own = new_key(meta.prefix, key, repository)
    if (DEPLOY_KEY_TYPE, own.name) not in access.lost:
        keys.append(own)
    return [_at_github("DeployKey", each.name, partial(_register_key, github, repository, each)) for each in keys]


def _at_github(kind: str, name: str, make: Make, needs: tuple[str, ...] = ()) -> Planned:
    return Planned(Stage.CONTENT, {"kind": kind, "metadata": {"name": name}}, needs=needs, make=make)


def _register_key(
    github: GitHub, repository: GitHubRepository, key: RegisteredKey, opts: pulumi.ResourceOptions, _: Registered
) -> pulumi.CustomResource:
    return github.deploy_key(key, repository, opts)


def _with_drawn_token(meta: ObjectMeta, opts: pulumi.ResourceOptions, _: Registered) -> pulumi.CustomResource:
    """The Secret with the token, generated once: later runs and both ends of the webhook use the one in the state."""
    drawn = made_once(partial(token_urlsafe, TOKEN_BYTES))
    data = drawn.apply(lambda text: webhook_secret(meta, text)["data"])
    keep = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["data"]))
    return register(webhook_secret(meta, "") | {"data": data}, keep)


def _webhook(
    meta: ObjectMeta,
    base: str | None,
    github: GitHub,
    repository: GitHubRepository,
    opts: pulumi.ResourceOptions,
    registered: Registered,
) -> pulumi.CustomResource:
    url = present(webhook_url(meta, base, registered), "the Secret with the token comes before")
    token = _token_in(registered[key_of(webhook_secret(meta, ""))])
    return github.webhook(meta.prefix, url, token, repository, opts)


def _token_in(secret: pulumi.CustomResource) -> pulumi.Output[str]:
    # The SDK sets an attribute for each property of a resource.
    data: pulumi.Output[dict[str, str]] = secret.data  # type: ignore[attr-defined]
    return data["token"].apply(lambda encoded: b64decode(encoded).decode())
