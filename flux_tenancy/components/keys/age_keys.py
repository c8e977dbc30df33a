"""Keys of age: identities, which decrypt, and recipients, which are public and encrypt.

Source: https://age-encryption.org/v1; the hybrid post-quantum ones of age 1.3, which kustomize-controller decrypts with
since 1.9 (Flux 2.9): https://github.com/FiloSottile/age/blob/v1.3.1/pq.go
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyrage
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.sealed import SealedText

_CHARACTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM_LENGTH = 6


def encode(prefix: str, data: bytes) -> str:
    """A prefix, the separator `1` and the data, in lowercase."""
    words = list(_regrouped(data, 8, 5))
    residue = _residue([*_expanded(prefix), *words, *[0] * _CHECKSUM_LENGTH]) ^ 1
    checksum = [residue >> 5 * (_CHECKSUM_LENGTH - 1 - index) & 31 for index in range(_CHECKSUM_LENGTH)]
    return f"{prefix}1{''.join(_CHARACTERS[word] for word in [*words, *checksum])}"


def decode(text: str) -> tuple[str, bytes]:
    """The prefix, in lowercase, and the data.

    Raises:
        ValueError: the text is not Bech32, or it is incomplete or damaged. The caller says which key it is.
    """
    prefix, separator, rest = text.lower().rpartition("1")
    if text not in (text.lower(), text.upper()) or not separator or not set(rest) <= set(_CHARACTERS):
        raise ValueError
    words = [_CHARACTERS.index(character) for character in rest]
    if _residue([*_expanded(prefix), *words]) != 1:
        raise ValueError
    return prefix, bytes(_regrouped(words[:-_CHECKSUM_LENGTH], 5, 8))


def _expanded(prefix: str) -> list[int]:
    codes = prefix.encode()
    return [*(code >> 5 for code in codes), 0, *(code & 31 for code in codes)]


def _residue(words: Iterable[int]) -> int:
    residue = 1
    for word in words:
        top = residue >> 25
        residue = (residue & 0x1FFFFFF) << 5 ^ word
        for bit, factor in enumerate(_GENERATOR):
            residue ^= factor if top >> bit & 1 else 0
    return residue


def _regrouped(words: Iterable[int], width: int, new_width: int) -> Iterator[int]:
    """The same bits in words of another width; the last word is padded when encoding and dropped when decoding."""
    bits = length = 0
    for word in words:
        bits, length = bits << width | word, length + width
        while length >= new_width:
            length -= new_width
            yield bits >> length & (1 << new_width) - 1
    if length and new_width < width:
        yield bits << new_width - length & (1 << new_width) - 1


_NEW_AGE_IDENTITY = "create one with `flux-tenancy key sops`; identities begin with AGE-SECRET-KEY-1"

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
        return _post_quantum(encode(prefix, secrets.token_bytes(_SEED_LENGTH)).upper())
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
            raise AgeKeyError(
                Message("FT-CFG-701", f"contains the identity of {identity.recipient} twice", "keep one of them")
            )
        found[identity.recipient] = identity
    if not found:
        raise AgeKeyError(Message("FT-CFG-700", "contains no age identity", _NEW_AGE_IDENTITY))
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
        raise AgeKeyError(
            Message(
                "FT-CFG-707",
                "is an age identity, which is a private key and was readable here",
                "withdraw it, and set the recipient (age1…) of another identity",
            )
        )
    try:
        if recipient.startswith(POST_QUANTUM_RECIPIENT):
            _, data = decode(recipient)
            MLKEM768PublicKey.from_public_bytes(data[:_MLKEM_PUBLIC_LENGTH])
            complete = len(data) == _MLKEM_PUBLIC_LENGTH + _X25519_LENGTH
        else:
            complete = str(pyrage.x25519.Recipient.from_str(recipient)) == recipient
    except (ValueError, pyrage.RecipientError):
        complete = False
    if not complete:
        raise AgeKeyError(
            Message("FT-CFG-708", "is not a complete age recipient", "copy the whole line, which begins with age1")
        )
    return recipient


def _read(line: str, number: int) -> AgeIdentity:
    try:
        if line.startswith(POST_QUANTUM_IDENTITY):
            return _post_quantum(line)
        if line.startswith(IDENTITY):
            return _classic(line)
    except (ValueError, pyrage.IdentityError):
        raise AgeKeyError(
            Message("FT-CFG-706", f"line {number} is an incomplete or damaged age identity", "copy the whole line")
        ) from None
    if line.lower().startswith(RECIPIENT):
        raise AgeKeyError(
            Message(
                "FT-CFG-702",
                f"line {number} is a recipient, which is public and cannot decrypt",
                "set its identity, which begins with AGE-SECRET-KEY-1",
            )
        )
    if line.startswith("AGE-PLUGIN-"):
        raise AgeKeyError(
            Message(
                "FT-CFG-703",
                f"line {number} is an identity of an age plugin, and Flux supports no plugins",
                "create one with `flux-tenancy key sops`",
            )
        )
    if line.startswith("-----BEGIN AGE ENCRYPTED FILE"):
        raise AgeKeyError(
            Message(
                "FT-CFG-704",
                f"line {number} begins a file that is protected by a passphrase, but Flux cannot enter one",
                "set its content: `age --decrypt <file> | pulumi config set --secret --path <key>`",
            )
        )
    raise AgeKeyError(Message("FT-CFG-705", f"line {number} is not an age identity", _NEW_AGE_IDENTITY))


def _classic(private: str) -> AgeIdentity:
    return AgeIdentity(private, str(pyrage.x25519.Identity.from_str(private).to_public()))


def _post_quantum(private: str) -> AgeIdentity:
    """The recipient of a hybrid identity: both halves come from one seed (KEM MLKEM768-X25519, draft-ietf-hpke-pq).

    Raises:
        ValueError: the identity is incomplete or damaged.
    """
    _, seed = decode(private)
    if len(seed) != _SEED_LENGTH:
        raise ValueError
    seeds = hashlib.shake_256(seed).digest(_MLKEM_SEED_LENGTH + _X25519_LENGTH)
    mlkem = MLKEM768PrivateKey.from_seed_bytes(seeds[:_MLKEM_SEED_LENGTH]).public_key().public_bytes_raw()
    x25519 = X25519PrivateKey.from_private_bytes(seeds[_MLKEM_SEED_LENGTH:]).public_key().public_bytes_raw()
    return AgeIdentity(private, encode(POST_QUANTUM_RECIPIENT.removesuffix("1"), mlkem + x25519))
