"""Public keys that verify image signatures, as `cosign generate-key-pair` writes them to cosign.pub.

Source: https://docs.sigstore.dev/cosign/key_management/signing_with_self-managed_keys/
"""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from components.config.messages import Message
from components.keys import armor


def read_public_key(text: str) -> str:
    """One public key in PEM, with Unix line endings.

    Raises:
        ValueError: the text is anything else, above all a private key; the message contains nothing of the text.
    """
    if any(map(armor.is_private, armor.labels(text))):
        raise ValueError(
            Message(
                "FT-CFG-126",
                "is a private key, which was readable here",
                "replace it, and set the public key, cosign.pub",
            )
        )
    if not armor.is_single_block(text, "PUBLIC KEY"):
        raise ValueError(Message("FT-CFG-127", "is not a public key in PEM", "use the content of cosign.pub"))
    key = armor.normalized(text)
    try:
        load_pem_public_key(key.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError(
            Message("FT-CFG-128", "is an incomplete or damaged public key", "use the content of cosign.pub")
        ) from None
    return key
