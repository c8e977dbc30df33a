"""Where the objects of a sync live, and the Secrets there."""

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
"""Pattern of how generated names end."""
SECRET_SUFFIX = f"-({_WEBHOOK}$|{GENERATED_SUFFIX})"
"""Pattern of how the names of a sync's Secrets end, after its own name.

Source: https://www.pulumi.com/docs/iac/concepts/resources/names/#autonaming
"""


@dataclass(frozen=True)
class ObjectMeta:
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

    def generated_secret(self, purpose: SecretPurpose, data: Mapping[str, str]) -> Manifest:
        """An immutable Secret with a generated name: for another content, the engine makes another Secret.

        So whoever refers to it does so anew and Flux reads it at once, and the previous one stays until that is done.
        The name says nothing of the content: everybody who may read the source or the sync can read it.
        """
        secret = self.secret("", data)
        named = {key: value for key, value in secret["metadata"].items() if key != "name"}
        metadata = {"generateName": f"{self.secret_reference(purpose)}-", **named}
        return secret | {"metadata": metadata, "immutable": True}

    def secret_reference(self, purpose: SecretPurpose) -> str:
        """What refers to a Secret with a generated name until that is known (`components.cluster.generated_names`)."""
        return f"{self.name}-{purpose.value}"

    @property
    def webhook_secret_name(self) -> str:
        """What the Secret is called that both ends of the source's webhook share."""
        return f"{self.name}-{_WEBHOOK}"
