"""Certificates and keys as PEM files, made once and renewed before they expire."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lab.files import PUBLIC, SECRET, write_file

SERVER = ExtendedKeyUsageOID.SERVER_AUTH
CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH

LOCAL_HOSTS = ("localhost", "127.0.0.1")
"""What clients on this machine call it."""

_AUTHORITY_LIFE = datetime.timedelta(days=3650)
_CERTIFICATE_LIFE = datetime.timedelta(days=365)
_RENEWED_BEFORE = datetime.timedelta(days=30)
_CLOCK_SKEW = datetime.timedelta(minutes=5)


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Request:
    """What a certificate is for.

    Attributes:
        user: common name; of a client of the Kubernetes API, the user as that sees it.
        authority: name of the authority that signs it.
        group: organisation; the user's group.
        usages: whether it serves, calls or both.
        hosts: DNS names and addresses that a server answers as.
    """

    user: str
    authority: str
    group: str | None = None
    usages: tuple[x509.ObjectIdentifier, ...] = (CLIENT,)
    hosts: tuple[str, ...] = ()

    def subject(self) -> x509.Name:
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, self.user)]
        if self.group:
            attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, self.group))
        return x509.Name(attributes)

    def extensions(self) -> list[x509.ExtensionType]:
        """The extensions that depend on the request."""
        extensions: list[x509.ExtensionType] = [x509.ExtendedKeyUsage(self.usages)]
        if self.hosts:
            extensions.append(x509.SubjectAlternativeName([_general_name(host) for host in self.hosts]))
        return extensions


@dataclass(frozen=True)
class Certificates:
    """A set of certificates, with the authorities that sign them.

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
        """Whether nothing is missing, damaged, for other names or within 30 days of its end."""
        return all(_is_authority(self.pair(name)) for name in self._authorities) and all(
            self._fits(name, request) for name, request in self.requests.items()
        )

    def renew(self) -> None:
        """Make what is not usable. Processes that have read the old files go on with those.

        Raises:
            LabError: a file cannot be written.
        """
        for name in self._authorities:
            if not _is_authority(self.pair(name)):
                _write_authority(self.pair(name), name)
        for name, request in self.requests.items():
            if not self._fits(name, request):
                _write_certificate(self.pair(name), request, self.pair(request.authority))

    @property
    def _authorities(self) -> list[str]:
        return sorted({request.authority for request in self.requests.values()})

    def _fits(self, name: str, request: Request) -> bool:
        return _fits(self.pair(name), request, self.pair(request.authority))


def usable_key(path: Path) -> bool:
    """Whether a file holds an elliptic curve key."""
    try:
        _read_key(path)
    except (OSError, ValueError, TypeError):
        return False
    return True


def write_new_key(path: Path) -> None:
    """Replace a file by a new elliptic curve key.

    Raises:
        LabError: the file cannot be written.
    """
    _write_key(path, _new_key())


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{path} is not an elliptic curve key")
    return key


def _read_certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def _usable(pair: Pair) -> bool:
    """Whether both files can be read, belong together and hold for another 30 days."""
    try:
        certificate = _read_certificate(pair.certificate)
        belong = certificate.public_key() == _read_key(pair.key).public_key()
    except (OSError, ValueError, TypeError):
        return False
    now = datetime.datetime.now(datetime.UTC)
    return belong and certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - _RENEWED_BEFORE


def _is_authority(pair: Pair) -> bool:
    if not _usable(pair):
        return False
    try:
        constraints = _read_certificate(pair.certificate).extensions.get_extension_for_class(x509.BasicConstraints)
    except x509.ExtensionNotFound:
        return False
    return constraints.value.ca


def _fits(pair: Pair, request: Request, authority: Pair) -> bool:
    """Whether a certificate is what the request asks for, signed by the authority."""
    if not _usable(pair):
        return False
    certificate = _read_certificate(pair.certificate)
    extensions = certificate.extensions
    try:
        certificate.verify_directly_issued_by(_read_certificate(authority.certificate))
        present = [extensions.get_extension_for_class(type(wanted)).value for wanted in request.extensions()]
    except (InvalidSignature, ValueError, x509.ExtensionNotFound):
        return False
    return certificate.subject == request.subject() and present == request.extensions()


def _write_authority(pair: Pair, name: str) -> None:
    key = _new_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        _builder(subject, subject, key.public_key(), _AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
    )
    _write_pair(pair, key, builder.sign(key, hashes.SHA256()))


def _write_certificate(pair: Pair, request: Request, authority: Pair) -> None:
    key = _new_key()
    issuer, issuer_key = _read_certificate(authority.certificate), _read_key(authority.key)
    builder = (
        _builder(request.subject(), issuer.subject, key.public_key(), _CERTIFICATE_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    for extension in request.extensions():
        builder = builder.add_extension(extension, critical=False)
    _write_pair(pair, key, builder.sign(issuer_key, hashes.SHA256()))


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey, life: datetime.timedelta
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _key_usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_pair(pair: Pair, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
    # A key without its certificate, left by a command that was killed here, does not match and is made anew.
    _write_key(pair.key, key)
    write_file(pair.certificate, certificate.public_bytes(serialization.Encoding.PEM).decode(), PUBLIC)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    # The API server takes the public half of its token key out of this format, but not out of PKCS #8.
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    write_file(path, pem.decode(), SECRET)
