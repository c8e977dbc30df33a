"""Whose signatures container images have to carry."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from components.allowlists.types import ImagePatternText
from components.config.errors import MisplacedValueError
from components.config.section import Section
from components.config.types import DnsLabel, WebUrl
from components.keys.types import CosignPublicKey

# What Python's expressions have and those of Go, which Kyverno uses, have not.
_NOT_RE2 = re.compile(r"\(\?(=|!|<=|<!|>|P=|\()|\\[1-9]")


def _regular_expression(text: str) -> str:
    example = r"write it like https://github\.com/org/app/\.github/workflows/release\.yaml@refs/tags/.*"
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is not a regular expression ({error}); {example}") from None
    if _NOT_RE2.search(text):
        raise ValueError(f"looks around or back, which RE2 cannot; {example}")
    return text


RegularExpression = Annotated[str, AfterValidator(_regular_expression)]


class KeylessSigner(Section):
    """Who signs with an identity in place of a key: a workflow, or a person.

    Source: https://docs.sigstore.dev/cosign/verifying/verify/
    """

    issuer: WebUrl = Field(
        description="Who vouches for the identity, e.g. `https://token.actions.githubusercontent.com`."
    )
    subject: str | None = Field(None, min_length=1, description="The identity, exactly as the certificate has it.")
    subject_reg_exp: RegularExpression | None = Field(
        None, description="A regular expression (RE2) that the whole identity has to match."
    )

    @model_validator(mode="after")
    def _one_subject(self) -> KeylessSigner:
        if (self.subject is None) == (self.subject_reg_exp is None):
            raise ValueError("name the signer by exactly one of subject and subjectRegExp")
        return self


class ImageSignature(Section):
    """Images that have to be signed, and by whom.

    An image that several entries name has to be signed as one of them says, so that a key can be replaced by another.
    """

    images: tuple[ImagePatternText, ...] = Field(
        min_length=1, description="Repositories, e.g. `registry.example.com/org/*`."
    )
    key: CosignPublicKey | None = Field(None, description="Public key of who signs them, the content of cosign.pub.")
    keyless: KeylessSigner | None = Field(None, description="Identity of who signs them.")
    transparency_log: bool = Field(
        True,
        description="Ask for the signature's entry in Sigstore's public log; `false` for a key whose signatures are "
        "in none.",
    )

    @model_validator(mode="after")
    def _one_signer(self) -> ImageSignature:
        if (self.key is None) == (self.keyless is None):
            raise ValueError("say who signs by exactly one of key and keyless")
        if self.keyless is not None and not self.transparency_log:
            raise MisplacedValueError(
                ("transparencyLog",),
                "must be true for keyless signatures: their certificates last minutes, and the log alone says when",
            )
        return self


class RegistryAccess(Section):
    """How Kyverno reads images' signatures from registries."""

    secrets: tuple[DnsLabel, ...] = Field(
        (), description="Secrets of type `kubernetes.io/dockerconfigjson` in Kyverno's namespace that it logs in with."
    )
    insecure: bool = Field(
        False, description="Read from registries without TLS or with an unknown certificate; for a lab."
    )
