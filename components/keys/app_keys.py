"""Private keys of GitHub Apps.

Source: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/managing-private-keys-for-github-apps
"""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from components.keys import armor
from components.keys.config_wordings import (
    APP_KEY_NOT_RSA,
    APP_KEY_WITH_PASSPHRASE,
    DAMAGED_APP_KEY,
    NOT_AN_APP_KEY,
    SHORT_APP_KEY,
)

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
        raise AppKeyError(NOT_AN_APP_KEY())
    try:
        key = serialization.load_pem_private_key(normalized.encode(), password=None)
    except TypeError:  # there is no password to decrypt it with
        raise AppKeyError(APP_KEY_WITH_PASSPHRASE()) from None
    except (ValueError, UnsupportedAlgorithm):
        raise AppKeyError(DAMAGED_APP_KEY()) from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise AppKeyError(APP_KEY_NOT_RSA())
    if key.key_size < SHORTEST:
        raise AppKeyError(SHORT_APP_KEY(bits=key.key_size))
    return normalized
