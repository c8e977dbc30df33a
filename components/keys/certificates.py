"""Certificates of the authorities that issued the certificates of Git hosts.

Source: https://fluxcd.io/flux/components/source/gitrepositories/#https-certificate-authority
"""

from __future__ import annotations

from cryptography import x509

from components.config.messages import Message
from components.keys import armor


class CertificateError(ValueError):
    """A text that does not consist of certificates. The message does not repeat it."""


def read_authority(text: str) -> str:
    """One or more certificates in PEM, with Unix line endings.

    Raises:
        CertificateError: the text is anything else, above all a private key, which must never leave the authority.
    """
    normalized = armor.normalized(text)
    labels = armor.labels(normalized)
    if any(map(armor.is_private, labels)):
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
