"""Whose signatures container images need."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from components.allowlists.types import ImagePatternText
from components.config.errors import MisplacedValueError
from components.config.section import Section
from components.config.types import DnsLabel, WebUrl
from components.keys.types import CosignPublicKey
from components.policies.config_wordings import (
    KEYLESS_NEEDS_LOG,
    NOT_A_REGULAR_EXPRESSION,
    NOT_RE2,
    ONE_SIGNER,
    ONE_SUBJECT,
)

# What Python's regular expressions support, and those of Go, which Kyverno uses, do not.
_NOT_RE2 = re.compile(r"\(\?(=|!|<=|<!|>|P=|\()|\\[1-9]")


def _regular_expression(text: str) -> str:
    example = r"https://github\.com/org/app/\.github/workflows/release\.yaml@refs/tags/.*"
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(NOT_A_REGULAR_EXPRESSION(reason=error, example=example)) from None
    if _NOT_RE2.search(text):
        raise ValueError(NOT_RE2(example=example))
    return text


RegularExpression = Annotated[str, AfterValidator(_regular_expression)]


class KeylessSigner(Section):
    """A signer with an identity instead of a key: a workflow or a person.

    Source: https://docs.sigstore.dev/cosign/verifying/verify/
    """

    issuer: WebUrl = Field(description="Issuer of the identity, e.g. `https://token.actions.githubusercontent.com`.")
    subject: str | None = Field(None, min_length=1, description="The identity, exactly as in the certificate.")
    subject_reg_exp: RegularExpression | None = Field(
        None, description="A regular expression (RE2) that the whole identity must match."
    )

    @model_validator(mode="after")
    def _one_subject(self) -> KeylessSigner:
        if (self.subject is None) == (self.subject_reg_exp is None):
            raise ValueError(ONE_SUBJECT())
        return self


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
            raise ValueError(ONE_SIGNER())
        if self.keyless is not None and not self.transparency_log:
            raise MisplacedValueError(("transparencyLog",), KEYLESS_NEEDS_LOG())
        return self


class RegistryAccess(Section):
    """How Kyverno reads signatures of images from registries."""

    secrets: tuple[DnsLabel, ...] = Field(
        (), description="Secrets of type `kubernetes.io/dockerconfigjson` in Kyverno's namespace, to log in with."
    )
    insecure: bool = Field(
        False, description="Allow registries without TLS or with an untrusted certificate; for a lab."
    )
