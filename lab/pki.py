"""Certificates and keys of a cluster, made once and renewed before they expire.

Two authorities, after https://kubernetes.io/docs/setup/best-practices/certificates/: one for the API and
its users, and one that only the cluster's parts trust among themselves. So a certificate that the API signs
for a user opens neither etcd nor the node agent.
"""

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

API_AUTHORITY = "api-ca"
"""Signs the serving certificates of the cluster's parts and the users of the API."""

INTERNAL_AUTHORITY = "internal-ca"
"""Signs etcd, and the API server as a client of etcd, of the node agent and of extension API servers."""

FRONT_PROXY = "front-proxy-client"
"""The user as whom the API server passes requests on to extension API servers."""

_AUTHORITIES = (API_AUTHORITY, INTERNAL_AUTHORITY)

_MASTERS = "system:masters"
"""The group that every cluster binds to ``cluster-admin``."""

_AUTHORITY_LIFE = datetime.timedelta(days=3650)
_CERTIFICATE_LIFE = datetime.timedelta(days=365)
_RENEWED_BEFORE = datetime.timedelta(days=30)
_CLOCK_SKEW = datetime.timedelta(minutes=5)

_SERVER = ExtendedKeyUsageOID.SERVER_AUTH
_CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, as PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class _Request:
    """What a certificate is for.

    Attributes:
        user: common name; of a client of the API, the user as Kubernetes sees it.
        group: organisation; the user's group.
        usages: whether it serves, calls or both.
        hosts: DNS names and addresses that a server answers as.
        authority: name of the authority that signs it.
    """

    user: str
    group: str | None = None
    usages: tuple[x509.ObjectIdentifier, ...] = (_CLIENT,)
    hosts: tuple[str, ...] = ()
    authority: str = API_AUTHORITY

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


def _requests(node_name: str, service_address: str) -> dict[str, _Request]:
    """All certificates of a cluster but the authorities', by the name of their files."""
    local = ("localhost", "127.0.0.1")
    api = (
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    )
    serving = (_SERVER,)
    return {
        "kube-apiserver": _Request("kube-apiserver", usages=serving, hosts=(*local, *api, service_address)),
        "kube-controller-manager-server": _Request("kube-controller-manager", usages=serving, hosts=local),
        "kube-scheduler-server": _Request("kube-scheduler", usages=serving, hosts=local),
        "node-agent-server": _Request(f"system:node:{node_name}", usages=serving, hosts=(*local, node_name)),
        "admin": _Request("lab:admin", _MASTERS),
        "kube-controller-manager": _Request("system:kube-controller-manager"),
        "kube-scheduler": _Request("system:kube-scheduler"),
        # The agent asks for tokens of the service accounts whose pods it runs. A kubelet may do so for its
        # own pods by way of the node authorizer, which the lab does without.
        "node-agent": _Request("lab:node-agent", _MASTERS),
        # An etcd member is a client of its peers by the same certificate.
        "etcd": _Request("etcd", usages=(_SERVER, _CLIENT), hosts=local, authority=INTERNAL_AUTHORITY),
        "etcd-client": _Request("kube-apiserver-etcd-client", authority=INTERNAL_AUTHORITY),
        "kubelet-client": _Request("kube-apiserver-kubelet-client", authority=INTERNAL_AUTHORITY),
        "front-proxy-client": _Request(FRONT_PROXY, authority=INTERNAL_AUTHORITY),
    }


@dataclass(frozen=True)
class Pki:
    """The certificates and keys of one cluster.

    Attributes:
        folder: where the files are or will be.
        node_name: name of the cluster's only node.
        service_address: address of the Service ``kubernetes``, the first one of the service range.
    """

    folder: Path
    node_name: str
    service_address: str

    def pair(self, name: str) -> Pair:
        """The files of a certificate, e.g. ``admin``, ``kube-apiserver`` or ``api-ca``."""
        return Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")

    @property
    def service_account_key(self) -> Path:
        """The key that signs the tokens of service accounts."""
        return self.folder / "service-account.key"

    def is_usable(self) -> bool:
        """Whether nothing is missing, damaged, for other names or within 30 days of its end."""
        return (
            _usable_key(self.service_account_key)
            and all(_is_authority(self.pair(name)) for name in _AUTHORITIES)
            and all(self._fits(name, request) for name, request in self._requests().items())
        )

    def renew(self) -> None:
        """Make what is not usable. Processes that have read the old files go on with those.

        Raises:
            LabError: a file cannot be written.
        """
        if not _usable_key(self.service_account_key):
            _write_key(self.service_account_key, _new_key())
        for name in _AUTHORITIES:
            if not _is_authority(self.pair(name)):
                _write_authority(self.pair(name), name)
        for name, request in self._requests().items():
            if not self._fits(name, request):
                _write_certificate(self.pair(name), request, self.pair(request.authority))

    def _requests(self) -> Mapping[str, _Request]:
        return _requests(self.node_name, self.service_address)

    def _fits(self, name: str, request: _Request) -> bool:
        return _fits(self.pair(name), request, self.pair(request.authority))


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


def _usable_key(path: Path) -> bool:
    try:
        _read_key(path)
    except (OSError, ValueError, TypeError):
        return False
    return True


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


def _fits(pair: Pair, request: _Request, authority: Pair) -> bool:
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


def _write_certificate(pair: Pair, request: _Request, authority: Pair) -> None:
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
