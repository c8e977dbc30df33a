"""Secrets of a stack file, encrypted as Pulumi's passphrase provider does, without a run of its CLI for each.

Source: EncryptValue and NewSymmetricCrypterFromPassphrase in sdk/go/common/resource/config/crypt.go of Pulumi
"""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from functools import cache
from hashlib import pbkdf2_hmac

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_VERSION = "v1"
_ITERATIONS = 1_000_000
_NONCE_BYTES = 12


def encrypted(text: str, salt: str, passphrase: str) -> str:
    """A text as the stack file has it under `secure`.

    Args:
        text: the text.
        salt: the stack's `encryptionsalt`.
        passphrase: the stack's passphrase.
    """
    nonce = os.urandom(_NONCE_BYTES)
    sealed = _cipher(salt.split(":")[1], passphrase).encrypt(nonce, text.encode(), None)
    return ":".join([_VERSION, b64encode(nonce).decode(), b64encode(sealed).decode()])


@cache
def _cipher(salt: str, passphrase: str) -> AESGCM:
    return AESGCM(pbkdf2_hmac("sha256", passphrase.encode(), b64decode(salt), _ITERATIONS))
