"""Keys and identities of those who sign, commits and tags with OpenPGP or SSH, images with cosign; keys of GitHub Apps,
and certificates with their keys.
"""

from __future__ import annotations

from typing import Annotated

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import load_pem_public_key, load_ssh_public_key
from pydantic import Field, SecretStr, model_validator

from flux_tenancy.components.config.errors import EXACTLY_ONE
from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import WebUrl, regular_expression, secret, unshown
from flux_tenancy.components.keys import armor
from flux_tenancy.components.keys.armor import InvalidKeyError
from flux_tenancy.components.keys.openpgp_keys import EXPORTED_PUBLIC_KEY, read_public_key

SHORTEST = 2048
"""Bits of the keys that GitHub generates."""


def read_app_key(text: str) -> str:
    """An unencrypted RSA private key in PEM, with Unix line endings.

    Raises:
        InvalidKeyError: the text is anything else; the message contains nothing of it.
    """
    key = _private_key(text)
    is_single = any(armor.is_single_block(text, label) for label in armor.labels(text))
    if not is_single or not isinstance(key, rsa.RSAPrivateKey) or key.key_size < SHORTEST:
        raise InvalidKeyError(
            armor.NOT_A_KEY(
                what=f"a private key as GitHub gives it to an App: unencrypted, in PEM, RSA of {SHORTEST} bits",
                instead="the .pem file from GitHub unchanged",
            )
        )
    return armor.normalized(text)


def read_client_key(text: str) -> str:
    """An unencrypted private key in PEM, with Unix line endings.

    Raises:
        InvalidKeyError: the text is anything else; the message contains nothing of it.
    """
    if _private_key(text) is None:
        raise InvalidKeyError(
            armor.NOT_A_KEY(what="an unencrypted private key in PEM", instead="all of it, with its BEGIN and END lines")
        )
    return armor.normalized(text)


def _private_key(text: str) -> PrivateKeyTypes | None:
    try:
        return serialization.load_pem_private_key(armor.normalized(text).encode(), password=None)
    except (TypeError, ValueError, UnsupportedAlgorithm):  # TypeError: there is no password to decrypt it with
        return None


def read_authority(text: str) -> str:
    """One or more certificates in PEM, with Unix line endings.

    Raises:
        InvalidKeyError: the text is anything else, above all a private key, which must never leave the authority.
    """
    normalized = armor.normalized(text)
    labels = armor.labels(normalized)
    if armor.has_private_key(text):
        raise InvalidKeyError(armor.EXPOSED(public="a certificate of another one"))
    try:
        found = x509.load_pem_x509_certificates(normalized.encode())
    except ValueError:
        found = []
    if not found or labels != ["CERTIFICATE"] * len(found):
        instead = "all from -----BEGIN CERTIFICATE----- on"
        raise InvalidKeyError(armor.NOT_A_KEY(what="one or more complete certificates in PEM", instead=instead))
    return normalized


_FORGEABLE = Wording(
    "FT-CFG-146",
    "is a DSA key, or an RSA key of less than 2048 bits: its signatures can be forged",
    "use an ed25519, ECDSA or longer RSA key",
)


def read_cosign_key(text: str) -> str:
    """One public key in PEM, with Unix line endings.

    Raises:
        InvalidKeyError: the text is anything else, above all a private key, or signatures by the key can be forged; the
            message contains nothing of the text.
    """
    if armor.has_private_key(text):
        raise InvalidKeyError(armor.EXPOSED(public="the public key of another one, cosign.pub"))
    key = armor.normalized(text)
    try:
        if not armor.is_single_block(text, "PUBLIC KEY"):
            raise ValueError
        loaded = load_pem_public_key(key.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidKeyError(
            armor.NOT_A_KEY(what="a complete public key in PEM", instead="the content of cosign.pub")
        ) from None
    if _is_forgeable(loaded):
        raise InvalidKeyError(_FORGEABLE())
    return key


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
            raise ValueError(EXACTLY_ONE(keys="subject and subjectRegExp"))
        return self


# source-controller tells the kinds of public keys apart by the suffix of the key in the Secret.
PGP_SUFFIX, SSH_SUFFIX = ".asc", ".sshpub"


def read_signing_key(text: str) -> str:
    """One armored OpenPGP public key block, or one SSH public key as `ssh-keygen` writes it.

    Raises:
        InvalidKeyError: the text is anything else, above all a private key, or signatures by the key can be forged.
    """
    if armor.labels(armor.normalized(text)):
        return read_public_key(text)
    line = text.strip()
    try:
        if len(line.splitlines()) > 1:
            raise ValueError
        loaded = load_ssh_public_key(line.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidKeyError(
            armor.NOT_A_KEY(
                what="an OpenPGP public key block or an SSH public key",
                instead=f"{EXPORTED_PUBLIC_KEY}, or the line of the .pub file",
            )
        ) from None
    if _is_forgeable(loaded):
        raise InvalidKeyError(_FORGEABLE())
    return line


def _is_forgeable(key: object) -> bool:
    """Whether a signature by this public key proves nothing. Source: NIST SP 800-131A revision 2, table 2."""
    return isinstance(key, dsa.DSAPublicKey) or (isinstance(key, rsa.RSAPublicKey) and key.key_size < SHORTEST)


def suffix_of(key: str) -> str:
    """The suffix of the key of such a public key in the Secret."""
    return PGP_SUFFIX if armor.labels(key) else SSH_SUFFIX


RsaPrivateKey = Annotated[SecretStr, *secret(read_app_key, "secret private RSA key, PEM")]
ClientKey = Annotated[SecretStr, *secret(read_client_key, "secret private key, PEM")]
CertificateAuthority = Annotated[str, *unshown(read_authority, "one or more certificates, PEM")]
SigningKey = Annotated[str, *unshown(read_signing_key, "OpenPGP public key, armored, or SSH public key")]
CosignPublicKey = Annotated[str, *unshown(read_cosign_key, "cosign public key, PEM")]
