"""Signers with an identity instead of a key, which Sigstore certifies.

Source: https://docs.sigstore.dev/cosign/verifying/verify/
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from components.config.messages import Message
from components.config.section import Section
from components.config.types import WebUrl, regular_expression

RegularExpression = Annotated[
    str, regular_expression(r"https://github\.com/org/app/\.github/workflows/release\.yaml@refs/tags/.*")
]


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
            raise ValueError(Message("FT-CFG-505", "needs exactly one of subject and subjectRegExp"))
        return self
