"""Private SSH keys with which Flux reads repositories: which ones are accepted, their public half, and new ones.

Flux's source-controller reads a key with golang.org/x/crypto/ssh, which knows the formats listed here. A key is passed
on as it was given: OpenSSH's format contains random numbers, so a key that is written again differs each time.

Source: https://fluxcd.io/flux/components/source/gitrepositories/#ssh-authentication
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.sealed import SealedText
from flux_tenancy.components.keys import armor

_STRONG_SSH_KEY = "use an ed25519 key, an ECDSA P-384 key, or an RSA key of at least 3072 bits"
_WHOLE_SSH_KEY = "the whole file with its line breaks: `pulumi config set --secret --path … < file`"
DAMAGED_SSH_KEY = Wording(
    "FT-CFG-138", "is an incomplete or damaged private key, or has other text around it", f"set {_WHOLE_SSH_KEY}"
)
_WEAK_SSH_KEY = Wording("FT-CFG-140", "is {what}, which is weak or which Git hosts do not accept", _STRONG_SSH_KEY)
_OTHER_FORMAT = Wording("FT-CFG-137", "is in {format}, which Flux does not support", "{remedy}")
_MORE_THAN_A_KEY = Wording("FT-CFG-136", "contains {what}", "set only the private SSH key")

SHORTEST_RSA = 3072
"""Minimum bits of an RSA key. Source: NIST SP 800-57 part 1, table 2: as strong as AES-128. Messages name it."""

KeyType = Literal["ed25519", "rsa"]
"""Types of new keys; Azure DevOps and CodeCommit take only RSA."""
_NEW_RSA = 4096
_FORMATS = ("OPENSSH PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY")
_PUBLIC_LINE = re.compile(r"^(ssh-|ecdsa-sha2-|sk-)[a-z0-9@.-]+ +[A-Za-z0-9+/]", re.MULTILINE)


class SshKeyError(ValueError):
    """The text is not a usable private key. The message contains nothing of the text."""


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
@lru_cache(maxsize=None, typed=True)
def read_private_key(text: str) -> SshKey:
    """The key pair of a private key in OpenSSH's format, PKCS#8, PKCS#1 or SEC1; of a sealed one, stand-ins.

    Raises:
        SshKeyError: the text is not one unencrypted private key of an accepted type and strength.
    """
    if isinstance(text, SealedText):
        return SshKey(text, text.public_half, text.public_half)
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
        raise SshKeyError(
            Message(
                "FT-CFG-144",
                "is damaged, or of a type that Git hosts do not accept",
                f"copy the whole file, or {_STRONG_SSH_KEY}",
            )
        ) from None
    except TypeError:  # there is no password to decrypt it with
        raise SshKeyError(
            armor.LOCKED(remedy="create a separate key with `flux-tenancy key deploy`, which stores it encrypted")
        ) from None
    except ValueError:
        raise SshKeyError(DAMAGED_SSH_KEY()) from None
    _check_strength(key)
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    return SshKey(private, public, fingerprint(public))


def generate(type_: KeyType = "ed25519") -> SshKey:
    """A new key in OpenSSH's format."""
    is_rsa = type_ == "rsa"
    key = rsa.generate_private_key(65537, _NEW_RSA) if is_rsa else ed25519.Ed25519PrivateKey.generate()
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
    """Refuse everything but one private key, each case with its own remedy."""
    if text.lstrip().startswith("PuTTY-User-Key-File"):
        raise SshKeyError(
            _OTHER_FORMAT(format="PuTTY's format", remedy="export it with `puttygen <file> -O private-openssh-new`")
        )
    labels = armor.labels(text)
    if any("PGP" in label for label in labels):
        raise SshKeyError(_MORE_THAN_A_KEY(what="an OpenPGP key"))
    if any("CERTIFICATE" in label for label in labels):
        raise SshKeyError(_MORE_THAN_A_KEY(what="a certificate"))
    if any("PUBLIC KEY" in label for label in labels) or "BEGIN SSH2 PUBLIC KEY" in text or _PUBLIC_LINE.search(text):
        raise SshKeyError(_MORE_THAN_A_KEY(what="a public key"))
    if not labels:
        what = "a private key: it has no line -----BEGIN … PRIVATE KEY-----"
        raise SshKeyError(armor.NOT_A_KEY(what=what, instead=_WHOLE_SSH_KEY))
    if len(labels) > 1:
        raise SshKeyError(_MORE_THAN_A_KEY(what=f"{len(labels)} blocks ({', '.join(labels)})"))
    if labels[0] == "DSA PRIVATE KEY":
        raise SshKeyError(_WEAK_SSH_KEY(what="a DSA key"))
    if labels[0] not in _FORMATS:
        raise SshKeyError(
            _OTHER_FORMAT(format=f"the format {labels[0]}", remedy="convert it to OpenSSH's format or PKCS#8")
        )
    if not armor.is_single_block(text, labels[0]):
        raise SshKeyError(DAMAGED_SSH_KEY())


def _check_strength(key: object) -> None:
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < SHORTEST_RSA:
        raise SshKeyError(_WEAK_SSH_KEY(what=f"an RSA key of only {key.key_size} bits"))
    if isinstance(key, ec.EllipticCurvePrivateKey) and not isinstance(key.curve, ec.SECP384R1):
        raise SshKeyError(_WEAK_SSH_KEY(what=f"an ECDSA key on the curve {key.curve.name}"))
    if isinstance(key, dsa.DSAPrivateKey):
        raise SshKeyError(_WEAK_SSH_KEY(what="a DSA key"))
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey):
        raise SshKeyError(_WEAK_SSH_KEY(what="a key of another type"))
