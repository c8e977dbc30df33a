"""Public keys of those who sign commits and tags: OpenPGP, or SSH.

Source: https://fluxcd.io/flux/components/source/gitrepositories/#verification-secret-reference
"""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from components.config.messages import Message
from components.keys import armor
from components.keys.openpgp_keys import EXPORTED_PUBLIC_KEY, read_public_key

# source-controller tells the kinds of public keys apart by the suffix of the key in the Secret.
PGP_SUFFIX, SSH_SUFFIX = ".asc", ".sshpub"


class SigningKeyError(ValueError):
    """The text is not a public key. The message contains nothing of the text."""


def read_signing_key(text: str) -> str:
    """One armored OpenPGP public key block, or one SSH public key as `ssh-keygen` writes it.

    Raises:
        OpenPgpKeyError: the text is a block of anything else, above all a private key.
        SigningKeyError: the text is anything else.
    """
    if armor.labels(armor.normalized(text)):
        return read_public_key(text)
    line = text.strip()
    try:
        load_ssh_public_key(line.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise SigningKeyError(
            Message(
                "FT-CFG-145",
                "is neither an OpenPGP public key block nor an SSH public key",
                f"{EXPORTED_PUBLIC_KEY}, or the line of the .pub file",
            )
        ) from None
    return line


def suffix_of(key: str) -> str:
    """The suffix of the key of such a public key in the Secret."""
    return PGP_SUFFIX if armor.labels(key) else SSH_SUFFIX
