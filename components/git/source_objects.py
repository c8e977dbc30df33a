"""The objects of one Git source as plain manifests: credentials, public keys, GitRepository and Receiver.

Source: `flux create secret git`, `flux create source git` and `flux create receiver` of Flux's reference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.keys.known_hosts import lines_for
from components.keys.signing_keys import suffix_of
from components.keys.ssh_keys import read_private_key
from components.vocabulary.names import GIT_REPOSITORY, SOURCE_API
from components.vocabulary.object_meta import ObjectMeta, SecretPurpose

if TYPE_CHECKING:
    from components.git.config import CommitVerification, GitHubAppCredentials, GitSource, Webhook
    from components.vocabulary.manifests import Manifest

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


@dataclass(frozen=True)
class SourceObjects:
    """A source's objects in the order in which they are created.

    Attributes:
        secrets: the Secrets with credentials and public keys, whose names are generated.
        source: the GitRepository, which refers to them as `components.plan.generated_names` describes.
        receiver: the Receiver of webhooks for pushes, or None; it needs `webhook_secret`.
    """

    secrets: list[Manifest]
    source: Manifest
    receiver: Manifest | None


def source_objects(meta: ObjectMeta, source: GitSource, known_hosts: Sequence[str]) -> SourceObjects:
    """All objects of a source except the Secret of its webhook, whose token is generated and not configured.

    Args:
        meta: name, namespace and labels of the objects.
        source: the source.
        known_hosts: the stack's own host keys.
    """
    spec: Manifest = {
        "url": source.url,
        "ref": _reference(source),
        "interval": source.interval,
        "timeout": source.timeout,
    }
    if source.ignore is not None:
        spec["ignore"] = source.ignore
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
    manifest = {"apiVersion": SOURCE_API, "kind": GIT_REPOSITORY, "metadata": meta.metadata(meta.name), "spec": spec}
    receiver = _receiver(meta, source.webhook) if source.webhook is not None else None
    return SourceObjects(secrets, manifest, receiver)


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


WEBHOOK_ROOT = "/hook/"
"""The beginning of the paths of all Receivers."""


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
