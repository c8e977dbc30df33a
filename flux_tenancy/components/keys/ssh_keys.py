"""Private SSH keys with which Flux reads repositories: which ones are accepted, their public half, and new ones.

Flux's source-controller reads a key with golang.org/x/crypto/ssh, which knows the formats listed here. A key is passed
on as it was given: OpenSSH's format contains random numbers, so a key that is written again differs each time.

Source: https://fluxcd.io/flux/components/source/gitrepositories/#ssh-authentication
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from pydantic import SecretStr

from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.config.types import SealedText, secret
from flux_tenancy.components.keys import armor

_STRONG_SSH_KEY = "use an ed25519 key, an ECDSA P-384 key, or an RSA key of at least 3072 bits"
NO_SSH_KEY = armor.NOT_A_KEY(
    what="one private SSH key in OpenSSH's format or in PEM, without other text around it",
    instead="the whole file with its line breaks: `pulumi config set --secret --path … < file`; PuTTY exports it with "
    "`puttygen <file> -O private-openssh-new`",
)
_DAMAGED_SSH_KEY = Wording(
    "FT-CFG-138",
    "is an incomplete or damaged private key, or of a type that Git hosts do not accept",
    f"copy the whole file, or {_STRONG_SSH_KEY}",
)
_WEAK_SSH_KEY = Wording("FT-CFG-140", "is {what}, which is weak or which Git hosts do not accept", _STRONG_SSH_KEY)

SHORTEST_RSA = 3072
"""Minimum bits of an RSA key. Source: NIST SP 800-57 part 1, table 2: as strong as AES-128. Messages name it."""

KeyType = Literal["ed25519", "rsa"]
"""Types of new keys; Azure DevOps and CodeCommit take only RSA."""
_NEW_RSA = 4096
_FORMATS = ("OPENSSH PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY")


@dataclass(frozen=True)
class SshKey:
    """A key pair.

    Attributes:
        private: the private half as it was given, with a newline at its end.
        public: the public half as OpenSSH writes it, without comment: `ssh-ed25519 AAAA…`.
        fingerprint: for people to compare: `SHA256:…`.
    """

    private: str = field(repr=False)
    public: str
    fingerprint: str


# Each run reads the same key several times, and checking a long RSA key takes a third of a second.
@lru_cache(maxsize=None, typed=True)
def read_private_key(text: str) -> SshKey:
    """The key pair of a private key in OpenSSH's format, PKCS#8, PKCS#1 or SEC1; of a sealed one, stand-ins.

    Raises:
        InvalidKeyError: the text is not one unencrypted private key of an accepted type and strength.
    """
    if isinstance(text, SealedText):
        return SshKey(text, text.public_half, text.public_half)
    private = armor.normalized(text)
    label = next(iter(armor.labels(private)), "")
    if label not in _FORMATS or not armor.is_single_block(private, label):
        raise armor.InvalidKeyError(NO_SSH_KEY)
    key: PrivateKeyTypes
    try:
        if label == "OPENSSH PRIVATE KEY":
            key = serialization.load_ssh_private_key(private.encode(), password=None)
        else:
            key = serialization.load_pem_private_key(private.encode(), password=None)
    except TypeError:  # there is no password to decrypt it with
        raise armor.InvalidKeyError(
            armor.LOCKED(remedy="create a separate key with `flux-tenancy key deploy`, which stores it encrypted")
        ) from None
    # Where a piece at the beginning is missing, the rest is read as the name of another type.
    except (ValueError, UnsupportedAlgorithm):
        raise armor.InvalidKeyError(_DAMAGED_SSH_KEY()) from None
    if (weakness := _weakness(key)) is not None:
        raise armor.InvalidKeyError(_WEAK_SSH_KEY(what=weakness))
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    return SshKey(private, public, fingerprint(public))


def generate(type_: KeyType = "ed25519") -> SshKey:
    """A new key in OpenSSH's format."""
    is_rsa = type_ == "rsa"
    key = rsa.generate_private_key(65537, _NEW_RSA) if is_rsa else ed25519.Ed25519PrivateKey.generate()
    return read_private_key(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        ).decode()
    )


def fingerprint(public: str) -> str:
    """The fingerprint of a public key `<type> <base64> …` as `ssh-keygen -l` shows it."""
    key = serialization.load_ssh_public_key(public.encode())
    digest = serialization.ssh_key_fingerprint(key, hashes.SHA256())
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def _weakness(key: object) -> str | None:
    if isinstance(key, rsa.RSAPrivateKey):
        return f"an RSA key of only {key.key_size} bits" if key.key_size < SHORTEST_RSA else None
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return None if isinstance(key.curve, ec.SECP384R1) else f"an ECDSA key on the curve {key.curve.name}"
    return None if isinstance(key, ed25519.Ed25519PrivateKey) else "a key of another type"


SshPrivateKey = Annotated[SecretStr, *secret(lambda text: read_private_key(text).private, "secret private SSH key")]
