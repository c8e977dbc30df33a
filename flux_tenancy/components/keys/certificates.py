"""Certificates of authorities, and private keys of GitHub Apps."""

from __future__ import annotations

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.keys import armor

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
            Message("FT-CFG-115", "is protected by a passphrase, but Flux cannot enter one", _APP_KEY)
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise AppKeyError(Message("FT-CFG-117", "is an incomplete or damaged private key", _APP_KEY)) from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise AppKeyError(Message("FT-CFG-118", "is not an RSA key", _APP_KEY))
    if key.key_size < SHORTEST:
        raise AppKeyError(Message("FT-CFG-119", f"is an RSA key of only {key.key_size} bits", _APP_KEY))
    return normalized


class CertificateError(ValueError):
    """A text that does not consist of certificates. The message does not repeat it."""


def read_authority(text: str) -> str:
    """One or more certificates in PEM, with Unix line endings.

    Raises:
        CertificateError: the text is anything else, above all a private key, which must never leave the authority.
    """
    normalized = armor.normalized(text)
    labels = armor.labels(normalized)
    if armor.has_private_key(text):
        raise CertificateError(
            Message(
                "FT-CFG-122",
                "contains a private key, which was readable here",
                "replace the key and its certificates, and set only the certificate",
            )
        )
    if not labels or any(label != "CERTIFICATE" for label in labels):
        raise CertificateError(
            Message("FT-CFG-123", "is not a certificate in PEM", "it begins with -----BEGIN CERTIFICATE-----")
        )
    try:
        found = x509.load_pem_x509_certificates(normalized.encode())
    except ValueError:
        found = []
    if len(found) != len(labels):
        raise CertificateError(Message("FT-CFG-124", "is an incomplete or damaged certificate", "copy the whole file"))
    return normalized
