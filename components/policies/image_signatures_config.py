"""Whose signatures container images need."""

from __future__ import annotations

from pydantic import Field, model_validator

from components.allowlists.types import ImagePatternText
from components.config.errors import MisplacedValueError
from components.config.messages import Message
from components.config.section import Section
from components.config.types import DnsLabel
from components.keys.keyless import KeylessSigner
from components.keys.types import CosignPublicKey


class ImageSignature(Section):
    """Images that have to be signed, and by whom.

    An image that several entries match needs the signature of one of them, so that a key can be replaced.
    """

    images: tuple[ImagePatternText, ...] = Field(
        min_length=1, description="Repositories, e.g. `registry.example.com/org/*`."
    )
    key: CosignPublicKey | None = Field(None, description="Public key of the signer, the content of cosign.pub.")
    keyless: KeylessSigner | None = Field(None, description="Identity of the signer.")
    transparency_log: bool = Field(
        True,
        description="Require an entry in Sigstore's public transparency log; `false` for a key whose signatures are in "
        "none.",
    )

    @model_validator(mode="after")
    def _one_signer(self) -> ImageSignature:
        if (self.key is None) == (self.keyless is None):
            raise ValueError(Message("FT-CFG-506", "needs exactly one of key and keyless"))
        if self.keyless is not None and not self.transparency_log:
            raise MisplacedValueError(
                ("transparencyLog",),
                Message(
                    "FT-CFG-507",
                    "must be true for keyless signatures: their certificates expire within minutes, and only the "
                    "log proves when they were used",
                ),
            )
        return self


class RegistryAccess(Section):
    """How Kyverno reads signatures of images from registries."""

    secrets: tuple[DnsLabel, ...] = Field(
        (), description="Secrets of type `kubernetes.io/dockerconfigjson` in Kyverno's namespace, to log in with."
    )
    insecure: bool = Field(
        False, description="Allow registries without TLS or with an untrusted certificate; for a lab."
    )
