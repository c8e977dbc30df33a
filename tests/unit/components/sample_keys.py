"""Keys of every kind, made anew for each run: no private key is committed, not even a useless one."""

from __future__ import annotations

import base64
import datetime
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from pysequoia import Tsk

OPENSSH, PKCS8 = serialization.PrivateFormat.OpenSSH, serialization.PrivateFormat.PKCS8
TRADITIONAL = serialization.PrivateFormat.TraditionalOpenSSL
"""PKCS#1 of an RSA key, SEC1 of an elliptic curve's."""

PASSPHRASE = serialization.BestAvailableEncryption(b"passphrase")


@cache
def rsa_key(bits: int) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


@cache
def ec_key(curve: type[ec.EllipticCurve] = ec.SECP384R1) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve())


@cache
def ed25519_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


@cache
def dsa_key() -> dsa.DSAPrivateKey:
    return dsa.generate_private_key(1024)


def private_text(
    key: PrivateKeyTypes,
    form: serialization.PrivateFormat,
    encryption: serialization.KeySerializationEncryption | None = None,
) -> str:
    return key.private_bytes(serialization.Encoding.PEM, form, encryption or serialization.NoEncryption()).decode()


def public_line(key: PrivateKeyTypes) -> str:
    """The public half as OpenSSH writes it."""
    return key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()


def public_pem(key: PrivateKeyTypes) -> str:
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


@cache
def with_passphrase_openssh() -> str:
    """An encrypted key in OpenSSH's format."""
    return private_text(ed25519_key(), OPENSSH, PASSPHRASE)


def openssh_of(kind: bytes) -> str:
    """A key in OpenSSH's format of a kind that only its name tells."""

    def text(value: bytes) -> bytes:
        return len(value).to_bytes(4, "big") + value

    public = text(kind) + text(bytes(32))
    private = bytes(8) + text(kind) + text(bytes(32))
    head = b"openssh-key-v1\0" + text(b"none") * 2 + text(b"") + (1).to_bytes(4, "big")
    return block("OPENSSH PRIVATE KEY", head + text(public) + text(private + bytes(range(1, 1 - len(private) % 8 + 8))))


def block(label: str, content: bytes) -> str:
    """A block of text armor."""
    body = base64.encodebytes(content).decode()
    return f"-----BEGIN {label}-----\n{body}-----END {label}-----\n"


def certificate() -> str:
    """A certificate that has signed itself, PEM."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    built = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=ed25519_key().public_key(),
        serial_number=1,
        not_valid_before=begin,
        not_valid_after=begin + datetime.timedelta(days=1),
    )
    return built.sign(ed25519_key(), None).public_bytes(serialization.Encoding.PEM).decode()


@cache
def openpgp_public_key() -> str:
    """An armored OpenPGP public key, with headers."""
    return str(Tsk.generate(user_id="ana").extract_certificate())
