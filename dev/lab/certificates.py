"""Certificates and keys as PEM files, issued once and renewed before they expire."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dev.lab.files import PUBLIC, SECRET, write_file

LOCAL_HOSTS = ("localhost", "127.0.0.1")
"""The names by which clients on this machine reach it."""

NO_GROUP = "flux-tenancy-lab"
"""Organization of certificates without a group: trustme always sets one, and no role is bound to this one."""

_LIFETIME = datetime.timedelta(days=365)
_RENEWAL = datetime.timedelta(days=30)
"""How long before its expiry a certificate is renewed."""


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Request:
    """What a certificate is for.

    trustme lets every certificate serve and authenticate a client. What one can be used for follows from its names:
    a server needs ``hosts``, and a user of the Kubernetes API a ``user`` and ``group`` that RBAC knows.

    Attributes:
        user: common name; the user name of a client of the Kubernetes API.
        authority: name of the authority that signs it.
        group: organization; the user's group.
        hosts: DNS names and IP addresses of a server.
    """

    user: str
    authority: str
    group: str | None = None
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Certificates:
    """A set of certificates and the authorities that sign them.

    Attributes:
        folder: where the files are or will be.
        requests: what each certificate is for, by the name of its files; the authorities are not among them.
    """

    folder: Path
    requests: Mapping[str, Request]

    def pair(self, name: str) -> Pair:
        """The files of a certificate or an authority."""
        return Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")

    def are_usable(self) -> bool:
        """Whether no certificate is missing, damaged, issued for other names or within 30 days of its expiry."""
        return all(_is_authority(self.pair(name)) for name in self._authorities) and all(
            self._satisfies(name, request) for name, request in self.requests.items()
        )

    def renew(self) -> None:
        """Issue what is not usable. Running processes keep using the files that they have read.

        Raises:
            LabError: a file cannot be written.
        """
        for name in self._authorities:
            if not _is_authority(self.pair(name)):
                authority = trustme.CA(organization_name=NO_GROUP, organization_unit_name=name, path_length=0)
                _write(self.pair(name), authority.private_key_pem, authority.cert_pem)
        for name, request in self.requests.items():
            if not self._satisfies(name, request):
                self._issue(name, request)

    @property
    def _authorities(self) -> list[str]:
        return sorted({request.authority for request in self.requests.values()})

    def _issue(self, name: str, request: Request) -> None:
        signer = self.pair(request.authority)
        issued = trustme.CA.from_pem(signer.certificate.read_bytes(), signer.key.read_bytes()).issue_cert(
            # Go rejects a certificate without any name; this one is no host of this machine.
            *(request.hosts or [name]),
            common_name=request.user,
            organization_name=request.group or NO_GROUP,
            organization_unit_name=name,
            not_after=datetime.datetime.now(datetime.UTC) + _LIFETIME,
        )
        _write(self.pair(name), issued.private_key_pem, issued.cert_chain_pems[0])

    def _satisfies(self, name: str, request: Request) -> bool:
        return _satisfies(self.pair(name), request, self.pair(request.authority))


def usable_key(path: Path) -> bool:
    """Whether a file holds an elliptic curve key."""
    try:
        _read_key(path)
    except (OSError, ValueError, TypeError):
        return False
    return True


def write_new_key(path: Path) -> None:
    """Replace a file with a new elliptic curve key.

    Raises:
        LabError: the file cannot be written.
    """
    # The API server derives the public key of its token key from this format, but not from PKCS #8.
    pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    write_file(path, pem.decode(), SECRET)


def _read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{path} is not an elliptic curve key")
    return key


def _read_certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def _is_usable(pair: Pair) -> bool:
    """Whether both files can be read, belong together and stay valid for another 30 days."""
    try:
        certificate = _read_certificate(pair.certificate)
        belong = certificate.public_key() == _read_key(pair.key).public_key()
    except (OSError, ValueError, TypeError):
        return False
    now = datetime.datetime.now(datetime.UTC)
    return belong and certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - _RENEWAL


def _is_authority(pair: Pair) -> bool:
    if not _is_usable(pair):
        return False
    try:
        constraints = _read_certificate(pair.certificate).extensions.get_extension_for_class(x509.BasicConstraints)
    except x509.ExtensionNotFound:
        return False
    return constraints.value.ca


def _satisfies(pair: Pair, request: Request, authority: Pair) -> bool:
    """Whether a certificate is what the request asks for, signed by the authority."""
    if not _is_usable(pair):
        return False
    certificate = _read_certificate(pair.certificate)
    try:
        certificate.verify_directly_issued_by(_read_certificate(authority.certificate))
    except (InvalidSignature, ValueError):
        return False
    groups = {name.value for name in certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)}
    users = [name.value for name in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return (
        users == [request.user]
        # Certificates of earlier versions of the lab have no organization in place of NO_GROUP.
        and groups - {NO_GROUP} == {request.group} - {None}
        and (not request.hosts or _hosts(certificate) == set(request.hosts))
    )


def _hosts(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {str(name.value) for name in names}


def _write(pair: Pair, key: trustme.Blob, certificate: trustme.Blob) -> None:
    # A key without its certificate, left by a command that was killed here, does not match and is issued again.
    write_file(pair.key, key.bytes().decode(), SECRET)
    write_file(pair.certificate, certificate.bytes().decode(), PUBLIC)
