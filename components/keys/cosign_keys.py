"""Public keys that verify image signatures, as `cosign generate-key-pair` writes them to cosign.pub.

Source: https://docs.sigstore.dev/cosign/key_management/signing_with_self-managed_keys/
"""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from components.keys import armor
from components.keys.config_wordings import COSIGN_PRIVATE_KEY, DAMAGED_COSIGN_KEY, NOT_A_COSIGN_KEY


def read_public_key(text: str) -> str:
    """One public key in PEM, with Unix line endings.

    Raises:
        ValueError: the text is anything else, above all a private key; the message contains nothing of the text.
    """
    if any(map(armor.is_private, armor.labels(text))):
        raise ValueError(COSIGN_PRIVATE_KEY())
    if not armor.is_single_block(text, "PUBLIC KEY"):
        raise ValueError(NOT_A_COSIGN_KEY())
    key = armor.normalized(text)
    try:
        load_pem_public_key(key.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError(DAMAGED_COSIGN_KEY()) from None
    return key
