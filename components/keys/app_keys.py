"""Private keys of GitHub Apps.

Source: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/managing-private-keys-for-github-apps
"""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from components.keys import armor

SHORTEST = 2048
"""Bits of the keys that GitHub generates."""

_FORMATS = ("RSA PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
_WHERE = "give the .pem file that GitHub hands out, as it is"


class AppKeyError(ValueError):
    """The text is not the private key of an App. The message completes a sentence and contains nothing of the text."""


def read_app_key(text: str) -> str:
    """An unencrypted RSA private key in PEM, with Unix line endings.

    Raises:
        AppKeyError: the text is anything else.
    """
    normalized = armor.normalized(text)
    labels = armor.labels(normalized)
    if len(labels) != 1 or labels[0] not in _FORMATS or not armor.is_single_block(normalized, labels[0]):
        raise AppKeyError(f"is not one RSA private key in PEM; {_WHERE}")
    try:
        key = serialization.load_pem_private_key(normalized.encode(), password=None)
    except TypeError:  # there is no password to decrypt it with
        raise AppKeyError(f"is protected by a passphrase, which Flux cannot ask for; {_WHERE}") from None
    except (ValueError, UnsupportedAlgorithm):
        raise AppKeyError(f"is not a whole private key: something of it is missing or changed; {_WHERE}") from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise AppKeyError(f"is not an RSA key; {_WHERE}")
    if key.key_size < SHORTEST:
        raise AppKeyError(f"is an RSA key of {key.key_size} bits, which is too short; {_WHERE}")
    return normalized
