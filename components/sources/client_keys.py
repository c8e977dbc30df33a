"""Private keys of client certificates."""

from __future__ import annotations

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from components.config.messages import Message
from components.keys import armor


def read_client_key(text: str) -> str:
    """An unencrypted private key in PEM, with Unix line endings.

    Raises:
        ValueError: the text is anything else; the message contains nothing of it.
    """
    normalized = armor.normalized(text)
    try:
        load_pem_private_key(normalized.encode(), password=None)
    except (TypeError, ValueError, UnsupportedAlgorithm):
        raise ValueError(
            Message(
                "FT-SRC-008", "is not an unencrypted private key in PEM", "copy all of it, with its BEGIN and END lines"
            )
        ) from None
    return normalized


def belongs_to(key: str, certificates: str) -> bool:
    """Whether a private key is that of the first of some certificates."""
    certificate, *_ = x509.load_pem_x509_certificates(certificates.encode())
    private = load_pem_private_key(key.encode(), password=None)
    return _public(private.public_key()) == _public(certificate.public_key())


def _public(key: object) -> bytes:
    encoded: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]
    return encoded
