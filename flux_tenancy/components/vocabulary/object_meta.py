"""The metadata of a sync's objects, and its Secrets."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from flux_tenancy.components.vocabulary.manifests import Manifest


class SecretPurpose(StrEnum):
    """What a Secret with a generated name is for."""

    GIT = "git"
    SIGNERS = "signers"
    SOPS = "sops"
    CREDENTIALS = "credentials"
    CERTIFICATES = "certificates"
    PROXY = "proxy"
    VALUES = "values"


_WEBHOOK = "webhook"
_OF_SYNCS = (SecretPurpose.GIT, SecretPurpose.SIGNERS, SecretPurpose.SOPS)
# Not those of a tenant's further sources: the preflight does not read all that may refer to them.
_OF_RELEASES = (*_OF_SYNCS, SecretPurpose.VALUES)
GENERATED_SUFFIX = f"({'|'.join(_OF_RELEASES)})-[0-9a-f]{{8}}$"
"""Pattern of the end of a generated name that follows the name of a sync or release."""
SECRET_SUFFIX = f"-({_WEBHOOK}$|({'|'.join(_OF_SYNCS)})-[0-9a-f]{{8}}$)"
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
        owner: the tenant, if the object is one of several and not named as the tenant; otherwise empty.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]
    owner: str = ""

    @property
    def prefix(self) -> str:
        """What the names of its Secrets begin with, which no other sync, source or release of the stack has."""
        # A dot, since a dash would let two tenants' objects have the same prefix.
        return f"{self.owner}.{self.name}" if self.owner else self.name

    def metadata(self, name: str) -> Manifest:
        metadata: Manifest = {"name": name, "namespace": self.namespace}
        return metadata | {"labels": dict(self.labels)} if self.labels else metadata

    def secret(self, name: str, data: Mapping[str, str], type_: str = "Opaque") -> Manifest:
        """A Secret of this type with this content, as plain text by key."""
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": self.metadata(name),
            "type": type_,
            "data": {key: b64encode(value.encode()).decode() for key, value in data.items()},
        }

    def generated_secret(self, purpose: SecretPurpose, data: Mapping[str, str], type_: str = "Opaque") -> Manifest:
        """An immutable Secret with a generated name: for other content, the engine creates another Secret.

        So the reference to it changes and Flux reads it at once, and the previous Secret stays until that is done. The
        name reveals nothing of the content: everybody with read access to the source or the sync sees it.
        """
        return self.immutable_secret(self.secret_reference(purpose), data, type_)

    def immutable_secret(self, prefix: str, data: Mapping[str, str], type_: str = "Opaque") -> Manifest:
        """An immutable Secret whose name is generated from a prefix (`generated_secret`)."""
        secret = self.secret("", data, type_)
        named = {key: value for key, value in secret["metadata"].items() if key != "name"}
        return secret | {"metadata": {"generateName": f"{prefix}-", **named}, "immutable": True}

    def secret_reference(self, purpose: SecretPurpose) -> str:
        """The placeholder for a Secret's generated name until it is known (`components.plan`)."""
        return f"{self.prefix}-{purpose.value}"

    @property
    def webhook_secret_name(self) -> str:
        """Name of the Secret with the token of the source's webhook."""
        return f"{self.prefix}-{_WEBHOOK}"
