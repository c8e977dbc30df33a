"""The public keys that images are signed with, as `cosign generate-key-pair` writes them to cosign.pub.

Source: https://docs.sigstore.dev/cosign/key_management/signing_with_self-managed_keys/
"""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from components.keys import armor


def read_public_key(text: str) -> str:
    """One public key in PEM, with Unix line endings.

    Raises:
        ValueError: the text is anything else, above all a private key; the message contains nothing of the text.
    """
    if any(map(armor.is_private, armor.labels(text))):
        raise ValueError(
            "is a private key, which has been readable here and is to be replaced; give the public one, cosign.pub"
        )
    if not armor.is_single_block(text, "PUBLIC KEY"):
        raise ValueError("is no public key in PEM, which begins with -----BEGIN PUBLIC KEY-----; give cosign.pub")
    key = armor.normalized(text)
    try:
        load_pem_public_key(key.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("is no whole public key: something of it is missing or changed") from None
    return key
