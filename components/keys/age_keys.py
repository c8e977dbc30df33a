"""Keys of age: identities, which decrypt, and recipients, which are public and encrypt.

Source: https://age-encryption.org/v1; the hybrid post-quantum ones of age 1.3, which kustomize-controller decrypts with
since 1.9 (Flux 2.9): https://github.com/FiloSottile/age/blob/v1.3.1/pq.go
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

import pyrage
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from components.config.sealed import SealedText
from components.keys import bech32
from components.keys.config_wordings import (
    AGE_IDENTITIES_WITH_PASSPHRASE,
    AGE_IDENTITY_AS_RECIPIENT,
    AGE_PLUGIN_IDENTITY,
    AGE_RECIPIENT_AS_IDENTITY,
    DAMAGED_AGE_IDENTITY,
    DUPLICATE_AGE_IDENTITY,
    NO_AGE_IDENTITY,
    NOT_AN_AGE_IDENTITY,
    NOT_AN_AGE_RECIPIENT,
)

IDENTITY = "AGE-SECRET-KEY-1"
POST_QUANTUM_IDENTITY = "AGE-SECRET-KEY-PQ-1"
RECIPIENT = "age1"
POST_QUANTUM_RECIPIENT = "age1pq1"

_SEED_LENGTH = 32
_MLKEM_SEED_LENGTH, _MLKEM_PUBLIC_LENGTH = 64, 1184
_X25519_LENGTH = 32


class AgeKeyError(ValueError):
    """The text is not a key of age. The message contains nothing of a private key."""


@dataclass(frozen=True)
class AgeIdentity:
    """One identity.

    Attributes:
        private: the identity itself, `AGE-SECRET-KEY-1…` or `AGE-SECRET-KEY-PQ-1…`.
        recipient: its public half, `age1…` or `age1pq1…`.
    """

    private: str = field(repr=False)
    recipient: str


def generate(post_quantum: bool = False) -> AgeIdentity:
    """A new identity, from the system's random source."""
    if post_quantum:
        prefix = POST_QUANTUM_IDENTITY.removesuffix("1").lower()
        return _post_quantum(bech32.encode(prefix, secrets.token_bytes(_SEED_LENGTH)).upper())
    return _classic(str(pyrage.x25519.Identity.generate()))


def read_identities(text: str) -> tuple[AgeIdentity, ...]:
    """The identities of an identity file: one on each line; empty lines and comments are ignored.

    A sealed file counts as one identity.

    Raises:
        AgeKeyError: the text is anything else, or lists an identity twice.
    """
    if isinstance(text, SealedText):
        return (AgeIdentity(text, text.public_half),)
    found: dict[str, AgeIdentity] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        identity = _read(line.strip(), number)
        if identity.recipient in found:
            raise AgeKeyError(DUPLICATE_AGE_IDENTITY(recipient=identity.recipient))
        found[identity.recipient] = identity
    if not found:
        raise AgeKeyError(NO_AGE_IDENTITY())
    return tuple(found.values())


def identity_file(identities: tuple[AgeIdentity, ...]) -> str:
    """The identities as one text, in their order, one on each line."""
    return "".join(f"{identity.private}\n" for identity in identities)


def read_recipient(text: str) -> str:
    """A recipient, without surrounding spaces.

    Raises:
        AgeKeyError: the text is anything else, above all an identity.
    """
    recipient = text.strip()
    if recipient.upper().startswith("AGE-SECRET-KEY-"):
        raise AgeKeyError(AGE_IDENTITY_AS_RECIPIENT())
    try:
        if recipient.startswith(POST_QUANTUM_RECIPIENT):
            _, data = bech32.decode(recipient)
            MLKEM768PublicKey.from_public_bytes(data[:_MLKEM_PUBLIC_LENGTH])
            complete = len(data) == _MLKEM_PUBLIC_LENGTH + _X25519_LENGTH
        else:
            complete = str(pyrage.x25519.Recipient.from_str(recipient)) == recipient
    except (ValueError, pyrage.RecipientError):
        complete = False
    if not complete:
        raise AgeKeyError(NOT_AN_AGE_RECIPIENT())
    return recipient


def _read(line: str, number: int) -> AgeIdentity:
    try:
        if line.startswith(POST_QUANTUM_IDENTITY):
            return _post_quantum(line)
        if line.startswith(IDENTITY):
            return _classic(line)
    except (ValueError, pyrage.IdentityError):
        raise AgeKeyError(DAMAGED_AGE_IDENTITY(line=number)) from None
    if line.lower().startswith(RECIPIENT):
        raise AgeKeyError(AGE_RECIPIENT_AS_IDENTITY(line=number))
    if line.startswith("AGE-PLUGIN-"):
        raise AgeKeyError(AGE_PLUGIN_IDENTITY(line=number))
    if line.startswith("-----BEGIN AGE ENCRYPTED FILE"):
        raise AgeKeyError(AGE_IDENTITIES_WITH_PASSPHRASE(line=number))
    raise AgeKeyError(NOT_AN_AGE_IDENTITY(line=number))


def _classic(private: str) -> AgeIdentity:
    return AgeIdentity(private, str(pyrage.x25519.Identity.from_str(private).to_public()))


def _post_quantum(private: str) -> AgeIdentity:
    """The recipient of a hybrid identity: both halves come from one seed (KEM MLKEM768-X25519, draft-ietf-hpke-pq).

    Raises:
        ValueError: the identity is incomplete or damaged.
    """
    _, seed = bech32.decode(private)
    if len(seed) != _SEED_LENGTH:
        raise ValueError
    seeds = hashlib.shake_256(seed).digest(_MLKEM_SEED_LENGTH + _X25519_LENGTH)
    mlkem = MLKEM768PrivateKey.from_seed_bytes(seeds[:_MLKEM_SEED_LENGTH]).public_key().public_bytes_raw()
    x25519 = X25519PrivateKey.from_private_bytes(seeds[_MLKEM_SEED_LENGTH:]).public_key().public_bytes_raw()
    return AgeIdentity(private, bech32.encode(POST_QUANTUM_RECIPIENT.removesuffix("1"), mlkem + x25519))
