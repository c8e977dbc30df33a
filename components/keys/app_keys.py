"""Private keys of GitHub Apps.

Source: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/managing-private-keys-for-github-apps
"""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from components.config.messages import Message
from components.keys import armor

_APP_KEY = "use the .pem file from GitHub unchanged"

SHORTEST = 2048
"""Bits of the keys that GitHub generates."""

_FORMATS = ("RSA PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY")


class AppKeyError(ValueError):
    """The text is not the private key of an App. The message contains nothing of the text."""


def read_app_key(text: str) -> str:
    """An unencrypted RSA private key in PEM, with Unix line endings.

    Raises:
        AppKeyError: the text is anything else.
    """
    normalized = armor.normalized(text)
    labels = armor.labels(normalized)
    if len(labels) != 1 or labels[0] not in _FORMATS or not armor.is_single_block(normalized, labels[0]):
        raise AppKeyError(Message("FT-CFG-116", "is not one RSA private key in PEM", _APP_KEY))
    try:
        key = serialization.load_pem_private_key(normalized.encode(), password=None)
    except TypeError:  # there is no password to decrypt it with
        raise AppKeyError(
            Message("FT-CFG-115", "is protected by a passphrase, which Flux cannot enter", _APP_KEY)
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise AppKeyError(Message("FT-CFG-117", "is an incomplete or damaged private key", _APP_KEY)) from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise AppKeyError(Message("FT-CFG-118", "is not an RSA key", _APP_KEY))
    if key.key_size < SHORTEST:
        raise AppKeyError(Message("FT-CFG-119", f"is an RSA key of only {key.key_size} bits", _APP_KEY))
    return normalized
