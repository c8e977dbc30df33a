"""Where the objects of a sync live, and Secrets there that are called after their content."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from components.manifests import Manifest


class SecretPurpose(StrEnum):
    """What a Secret that is called after its content is for."""

    GIT = "git"
    SIGNERS = "signers"
    SOPS = "sops"


_WEBHOOK = "webhook"
SECRET_SUFFIX = f"-({_WEBHOOK}|({'|'.join(SecretPurpose)})-[0-9a-f]{{10}})$"
"""Pattern of how the names of a sync's Secrets end, after its own name."""


@dataclass(frozen=True)
class Place:
    """Where the objects of a sync live and what they are called after.

    Attributes:
        name: name of the sync, and of its source.
        namespace: namespace of all its objects.
        labels: labels of all its objects.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]

    def metadata(self, name: str) -> Manifest:
        metadata: Manifest = {"name": name, "namespace": self.namespace}
        return metadata | {"labels": dict(self.labels)} if self.labels else metadata

    def secret(self, name: str, data: Mapping[str, str]) -> Manifest:
        """A Secret with this content, as plain text by key."""
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": self.metadata(name),
            "type": "Opaque",
            "data": {key: b64encode(value.encode()).decode() for key, value in data.items()},
        }

    def content_secret(self, purpose: SecretPurpose, data: Mapping[str, str]) -> Manifest:
        """A Secret called after its content: another content is another Secret.

        So whoever refers to it does so anew and Flux reads it at once, and the one before stays until that is done.
        """
        return self.secret(f"{self.name}-{purpose.value}-{_content_id(data)}", data) | {"immutable": True}

    @property
    def webhook_secret_name(self) -> str:
        """What the Secret is called that both ends of the source's webhook share."""
        return f"{self.name}-{_WEBHOOK}"


def _content_id(data: Mapping[str, str]) -> str:
    """A name for some content, which tells nothing of it: a password must not be found by trying names."""
    content = json.dumps(data, sort_keys=True).encode()
    return hashlib.scrypt(content, salt=b"flux-tenancy", n=2**10, r=8, p=1, dklen=5).hex()
