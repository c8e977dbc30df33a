"""OpenPGP keys: public ones, which Flux verifies commits and tags with, and private ones, which it decrypts with.

Source: https://fluxcd.io/flux/components/source/gitrepositories/#verification-secret-reference
and https://fluxcd.io/flux/components/kustomize/kustomizations/#openpgp-secret-entry
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import SecretStr
from pysequoia import Cert, Tsk
from pysequoia.packet import PacketPile, Tag

from flux_tenancy.components.config.errors import TWICE
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.types import SealedText, secret, unshown
from flux_tenancy.components.keys import armor
from flux_tenancy.components.keys.armor import InvalidKeyError

EXPORTED_PUBLIC_KEY = "the output of `gpg --export --armor <key>`"
OPENPGP_PRIVATE_KEY = armor.EXPOSED(public=f"{EXPORTED_PUBLIC_KEY} for another one")
NO_OPENPGP_PUBLIC_KEY = armor.NOT_A_KEY(
    what="one complete OpenPGP public key block, without other text around it", instead=EXPORTED_PUBLIC_KEY
)
NO_OPENPGP_PRIVATE_KEY = armor.NOT_A_KEY(
    what="complete OpenPGP private keys, each in an armored block, without other text around them",
    instead="the output of `gpg --export-secret-keys --armor <key>`, or a key of `flux-tenancy key sops --openpgp`",
)

_PUBLIC_LABEL, _PRIVATE_LABEL = "PGP PUBLIC KEY BLOCK", "PGP PRIVATE KEY BLOCK"
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\n.*?\n-----END \1-----\n", re.DOTALL)
_FINGERPRINT = re.compile(r"[0-9A-F]{40}([0-9A-F]{24})?")


@dataclass(frozen=True)
class OpenPgpKey:
    """One private key.

    Attributes:
        public: its public half, armored, for those who encrypt.
        fingerprint: how SOPS names it: uppercase hexadecimal digits.
    """

    private: str = field(repr=False)
    public: str
    fingerprint: str


def generate(user_id: str) -> OpenPgpKey:
    """A new key that does not expire: with an expired key Flux still decrypts, but nobody can encrypt."""
    return _key(Tsk.generate(user_id=user_id))


def read_public_key(text: str) -> str:
    """One armored public key block, with Unix line endings.

    Raises:
        InvalidKeyError: the text is anything else, above all a private key.
    """
    normalized = armor.normalized(text)
    if armor.has_private_key(text):
        raise InvalidKeyError(OPENPGP_PRIVATE_KEY)
    if not armor.is_single_block(normalized, _PUBLIC_LABEL):
        raise InvalidKeyError(NO_OPENPGP_PUBLIC_KEY)
    try:
        Cert.split_bytes(normalized.encode())
    except RuntimeError:  # its message has a stack trace
        raise InvalidKeyError(NO_OPENPGP_PUBLIC_KEY) from None
    if any(packet.tag in (Tag.SecretKey, Tag.SecretSubkey) for packet in PacketPile.from_bytes(normalized.encode())):
        raise InvalidKeyError(OPENPGP_PRIVATE_KEY)
    return normalized


def read_private_keys(text: str) -> tuple[OpenPgpKey, ...]:
    """The keys of a text with one armored block for each key; a sealed text counts as one key.

    Raises:
        InvalidKeyError: the text is anything else, or a key has a passphrase or is listed twice.
    """
    if isinstance(text, SealedText):
        return (OpenPgpKey(text, text.public_half, f"sealed-{text.digest}"),)
    normalized = armor.normalized(text)
    labels = armor.labels(normalized)
    blocks = [match.group() for match in _BLOCK.finditer(normalized)]
    is_whole = len(blocks) == len(labels) and not _BLOCK.sub("", normalized).strip()
    if set(labels) != {_PRIVATE_LABEL} or not is_whole:
        raise InvalidKeyError(NO_OPENPGP_PRIVATE_KEY)
    found: dict[str, OpenPgpKey] = {}
    for block in blocks:
        key = _read(block)
        if key.fingerprint in found:
            raise InvalidKeyError(TWICE(what=f"the key {key.fingerprint}"))
        found[key.fingerprint] = key
    return tuple(found.values())


def key_ring(keys: tuple[OpenPgpKey, ...]) -> str:
    """The keys as one text, in their order."""
    return "".join(key.private for key in keys)


def read_fingerprint(text: str) -> str:
    """A fingerprint in the form that SOPS uses.

    Raises:
        InvalidKeyError: the text is anything else, such as a short key ID, for which anybody can generate a key.
    """
    fingerprint = text.replace(" ", "").upper()
    if "PRIVATE KEY" in text:
        raise InvalidKeyError(armor.EXPOSED(public="the fingerprint of another one"))
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise InvalidKeyError(
            armor.NOT_A_KEY(what="the fingerprint of an OpenPGP key", instead="all of its 40 or 64 hexadecimal digits")
        )
    return fingerprint


def _read(block: str) -> OpenPgpKey:
    # Sequoia's messages have stack traces.
    try:
        key = Tsk.from_bytes(block.encode())
    except RuntimeError:
        raise InvalidKeyError(NO_OPENPGP_PRIVATE_KEY) from None
    try:
        key.decryptor()
    except RuntimeError as error:
        if "encrypted" in str(error):
            raise InvalidKeyError(
                armor.LOCKED(
                    remedy="create a separate key with `flux-tenancy key sops --openpgp`, which stores it encrypted"
                )
            ) from None
        raise InvalidKeyError(
            Message(
                "FT-CFG-728",
                "has no usable subkey for encryption",
                "add one with `gpg --quick-add-key <fingerprint> cv25519 encr` and export the key again, or "
                "create one with `flux-tenancy key sops --openpgp`",
            )
        ) from None
    return _key(key)


def _key(key: Tsk) -> OpenPgpKey:
    certificate = key.extract_certificate()
    return OpenPgpKey(str(key), str(certificate), certificate.fingerprint.upper())


OpenPgpPrivateKeys = Annotated[
    SecretStr, *secret(lambda text: key_ring(read_private_keys(text)), "secret OpenPGP private keys, armored")
]
OpenPgpFingerprint = Annotated[str, *unshown(read_fingerprint, "fingerprint of an OpenPGP key")]
