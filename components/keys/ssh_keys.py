"""Private SSH keys with which Flux reads repositories: which ones are accepted, their public half, and new ones.

Flux's source-controller reads a key with golang.org/x/crypto/ssh, which knows the formats listed here. A key is passed
on as it was given: OpenSSH's format contains random numbers, so a key that is written again differs each time.

Source: https://fluxcd.io/flux/components/source/gitrepositories/#ssh-authentication
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from functools import cache

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from components.keys import armor

SHORTEST_RSA = 3072
"""Minimum bits of an RSA key. Source: NIST SP 800-57 part 1, table 2: as strong as AES-128."""

ACCEPTED = f"ed25519, ECDSA P-384, or RSA from {SHORTEST_RSA} bits"

_FORMATS = ("OPENSSH PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY")
_PUBLIC_LINE = re.compile(r"^(ssh-|ecdsa-sha2-|sk-)[a-z0-9@.-]+ +[A-Za-z0-9+/]", re.MULTILINE)
_NEW_KEY = "`make deploy-key` makes one"


class SshKeyError(ValueError):
    """The text is not a usable private key. The message completes a sentence and contains nothing of the text."""


@dataclass(frozen=True)
class SshKey:
    """A key pair.

    Attributes:
        private: the private half as it was given, with a newline at its end.
        public: the public half as OpenSSH writes it, without comment: `ssh-ed25519 AAAA…`.
        fingerprint: for people to compare: `SHA256:…`.
    """

    private: str = field(repr=False)
    public: str
    fingerprint: str


# Each run reads the same key several times, and checking a long RSA key takes a third of a second.
@cache
def read_private_key(text: str) -> SshKey:
    """The key pair of a private key in OpenSSH's format, PKCS#8, PKCS#1 or SEC1.

    Raises:
        SshKeyError: the text is not one unencrypted private key of an accepted type and strength.
    """
    _check_kind(text)
    private = armor.normalized(text)
    [label] = armor.labels(private)
    key: PrivateKeyTypes
    try:
        if label == "OPENSSH PRIVATE KEY":
            key = serialization.load_ssh_private_key(private.encode(), password=None)
        else:
            key = serialization.load_pem_private_key(private.encode(), password=None)
    except UnsupportedAlgorithm:
        # Where a piece at the beginning is missing, the rest is read as the name of another type.
        raise SshKeyError(f"is damaged, or of a kind that Git hosts do not take; give {ACCEPTED}") from None
    except TypeError:  # there is no password to decrypt it with
        raise SshKeyError(_protected()) from None
    except ValueError:
        raise SshKeyError(_damaged()) from None
    _check_strength(key)
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    return SshKey(private, public, fingerprint(public))


def generate() -> SshKey:
    """A new ed25519 key in OpenSSH's format."""
    key = ed25519.Ed25519PrivateKey.generate()
    return read_private_key(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        ).decode()
    )


def fingerprint(public: str) -> str:
    """The fingerprint of a public key `<type> <base64> …` as `ssh-keygen -l` shows it."""
    key = serialization.load_ssh_public_key(public.encode())
    digest = serialization.ssh_key_fingerprint(key, hashes.SHA256())
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def _check_kind(text: str) -> None:
    """Refuse whatever is not one private key, with the remedy for each case."""
    if not text.strip():
        raise SshKeyError(f"is empty; {_NEW_KEY}")
    if text.lstrip().startswith("PuTTY-User-Key-File"):
        raise SshKeyError("is a key in PuTTY's format; export it with `puttygen <file> -O private-openssh-new`")
    labels = armor.labels(text)
    if any("PGP" in label for label in labels):
        raise SshKeyError("is an OpenPGP key, which is no SSH key; give a private SSH key")
    if any("CERTIFICATE" in label for label in labels):
        raise SshKeyError("holds a certificate; give a private SSH key, and nothing beside it")
    if any("PUBLIC KEY" in label for label in labels) or "BEGIN SSH2 PUBLIC KEY" in text or _PUBLIC_LINE.search(text):
        raise SshKeyError(
            "is or holds a public key; give the private half, and nothing beside it: the public one is derived from it"
        )
    if not labels:
        raise SshKeyError(f"is not a private key: no line of it is -----BEGIN … PRIVATE KEY-----; {_how_to_give()}")
    if len(labels) > 1:
        raise SshKeyError(f"holds {len(labels)} blocks ({', '.join(labels)}); leave the one private key")
    if labels[0] == "DSA PRIVATE KEY":
        raise SshKeyError(_dsa())
    if labels[0] not in _FORMATS:
        raise SshKeyError(f"is in a format that Flux does not read ({labels[0]}); give OpenSSH's or PKCS#8")
    if not armor.is_single_block(text, labels[0]):
        raise SshKeyError(_damaged())


def _check_strength(key: object) -> None:
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < SHORTEST_RSA:
        raise SshKeyError(f"is an RSA key of {key.key_size} bits, which is too short; give {ACCEPTED}")
    if isinstance(key, ec.EllipticCurvePrivateKey) and not isinstance(key.curve, ec.SECP384R1):
        raise SshKeyError(f"is an ECDSA key on the curve {key.curve.name}; give {ACCEPTED}")
    if isinstance(key, dsa.DSAPrivateKey):
        raise SshKeyError(_dsa())
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey):
        raise SshKeyError(f"is of a kind that Git hosts do not take; give {ACCEPTED}")


def _protected() -> str:
    return (
        "is protected by a passphrase, which Flux cannot ask for; take it off with `ssh-keygen -p -N ''`, "
        "or give a key of its own without one"
    )


def _damaged() -> str:
    return f"is not a whole private key: something of it is missing, changed, or stands around it; {_how_to_give()}"


def _how_to_give() -> str:
    return "give the file as it is, with its line breaks, by `pulumi config set --secret --path … < file`"


def _dsa() -> str:
    return f"is a DSA key, which Git hosts no longer take; give {ACCEPTED}"
