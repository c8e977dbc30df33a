"""The metadata of a sync's objects, and its Secrets."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from components.cluster.manifests import Manifest


class SecretPurpose(StrEnum):
    """What a Secret with a generated name is for."""

    GIT = "git"
    SIGNERS = "signers"
    SOPS = "sops"


_WEBHOOK = "webhook"
GENERATED_SUFFIX = f"({'|'.join(SecretPurpose)})-[0-9a-f]{{8}}$"
"""Pattern of the end of a generated name."""
SECRET_SUFFIX = f"-({_WEBHOOK}$|{GENERATED_SUFFIX})"
"""Pattern of the end of the names of a sync's Secrets, after its own name.

Source: https://www.pulumi.com/docs/iac/concepts/resources/names/#autonaming
"""


@dataclass(frozen=True)
class ObjectMeta:
    """What the metadata of a sync's objects has in common.

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

    def generated_secret(self, purpose: SecretPurpose, data: Mapping[str, str]) -> Manifest:
        """An immutable Secret with a generated name: for other content, the engine creates another Secret.

        So the reference to it changes and Flux reads it at once, and the previous Secret stays until that is done. The
        name reveals nothing of the content: everybody with read access to the source or the sync sees it.
        """
        secret = self.secret("", data)
        named = {key: value for key, value in secret["metadata"].items() if key != "name"}
        metadata = {"generateName": f"{self.secret_reference(purpose)}-", **named}
        return secret | {"metadata": metadata, "immutable": True}

    def secret_reference(self, purpose: SecretPurpose) -> str:
        """The placeholder for a Secret's generated name until it is known (`components.cluster.generated_names`)."""
        return f"{self.name}-{purpose.value}"

    @property
    def webhook_secret_name(self) -> str:
        """Name of the Secret with the token of the source's webhook."""
        return f"{self.name}-{_WEBHOOK}"
