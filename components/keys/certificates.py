"""Certificates of the authorities that issued the certificates of Git hosts.

Source: https://fluxcd.io/flux/components/source/gitrepositories/#https-certificate-authority
"""

from __future__ import annotations

from cryptography import x509

from components.keys import armor
from components.keys.config_wordings import DAMAGED_CERTIFICATE, NOT_A_CERTIFICATE, PRIVATE_KEY_BESIDE_CERTIFICATE


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
        raise CertificateError(PRIVATE_KEY_BESIDE_CERTIFICATE())
    if not labels or any(label != "CERTIFICATE" for label in labels):
        raise CertificateError(NOT_A_CERTIFICATE())
    try:
        found = x509.load_pem_x509_certificates(normalized.encode())
    except ValueError:
        found = []
    if len(found) != len(labels):
        raise CertificateError(DAMAGED_CERTIFICATE())
    return normalized
