"""Certificates of the authorities that have issued the certificates of Git hosts.

Source: https://fluxcd.io/flux/components/source/gitrepositories/#https-certificate-authority
"""

from __future__ import annotations

from cryptography import x509

from components.keys import armor


class CertificateError(ValueError):
    """The text is not a list of certificates. The message completes a sentence and contains nothing of the text."""


def read_authority(text: str) -> str:
    """One or more certificates in PEM, with Unix line endings.

    Raises:
        CertificateError: the text is anything else, above all a private key, which must never leave the authority.
    """
    normalized = armor.normalized(text)
    labels = armor.labels(normalized)
    if any(map(armor.is_private, labels)):
        raise CertificateError(
            "holds a private key, which has been readable here and is to be replaced; give the certificate alone"
        )
    if not labels or any(label != "CERTIFICATE" for label in labels):
        raise CertificateError("is no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----")
    try:
        found = x509.load_pem_x509_certificates(normalized.encode())
    except ValueError:
        found = []
    if len(found) != len(labels):
        raise CertificateError("is no whole certificate: something of it is missing or changed")
    return normalized
