"""The real `sops`, as somebody in a tenant's team uses it, and what it takes to try kinds of keys that it lacks."""

from __future__ import annotations

import base64
import os
import secrets
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyrage
import pysequoia
import yaml
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, MLKEM768X25519PublicKey, Suite
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from components.keys import age_keys, bech32

SOPS = Path(sysconfig.get_path("scripts"), "sops")
_LINE = 64


def sops(
    folder: Path, *arguments: str, identity: str = "", gnupg: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `sops` in a checkout, with no keys but these.

    Args:
        folder: the checkout, with its `.sops.yaml`.
        arguments: the command.
        identity: identity of age to decrypt with.
        gnupg: folder with the public keys that are known (`public_ring`).
    """
    environment = {
        "PATH": os.defpath,
        # Where it would look for keys of the person at the keyboard.
        "HOME": str(folder / ".git"),
        "SOPS_AGE_KEY": identity,
        "GNUPGHOME": str(gnupg or folder / ".git"),
    }
    command = [str(SOPS), "--disable-version-check", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def encrypt(folder: Path, path: str, text: str, gnupg: Path | None = None) -> str:
    """Write a file and encrypt it by the rules of the checkout's `.sops.yaml`; returns what it is then."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    done = sops(folder, "encrypt", "--in-place", path, gnupg=gnupg)
    assert done.returncode == 0, done.stderr
    return file.read_text()


def public_ring(folder: Path, public_key: str) -> Path:
    """A folder in which `sops` finds an OpenPGP key to encrypt for, without GnuPG.

    It reads the ring that GnuPG 1 kept: the keys one after the other. Source: pgp/keysource.go of sops.
    """
    folder.mkdir(mode=0o700)
    (folder / "pubring.gpg").write_bytes(bytes(pysequoia.Cert.from_bytes(public_key.encode())))
    return folder


def for_post_quantum(encrypted: str, identity: str, recipient: str) -> str:
    """An encrypted file for a hybrid recipient of age instead of the one that it was encrypted for.

    `sops` does so itself from 3.12 on; the one that comes as a Python package is older.

    Args:
        encrypted: the file, in YAML.
        identity: what decrypts it now.
        recipient: what decrypts it then.
    """
    document: dict[str, Any] = yaml.safe_load(encrypted)
    [key] = document["sops"]["age"]
    data_key = pyrage.decrypt(_dearmored(key["enc"]), [pyrage.x25519.Identity.from_str(identity)])
    document["sops"]["age"] = [{"recipient": recipient, "enc": _armored(_age_file(recipient, data_key))}]
    return yaml.safe_dump(document)


def changed(encrypted: str, change: Callable[[dict[str, Any]], None]) -> str:
    """An encrypted file in YAML that somebody without the key has changed."""
    document = yaml.safe_load(encrypted)
    change(document)
    return yaml.safe_dump(document)


def _age_file(recipient: str, content: bytes) -> bytes:
    """A file of age for one hybrid recipient. Source: https://age-encryption.org/v1 and pq.go of age 1.3."""
    file_key, nonce = secrets.token_bytes(16), secrets.token_bytes(16)
    _, point = bech32.decode(age_keys.read_recipient(recipient))
    public = MLKEM768X25519PublicKey(
        MLKEM768PublicKey.from_public_bytes(point[:1184]), X25519PublicKey.from_public_bytes(point[1184:])
    )
    suite = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
    sealed = suite.encrypt(file_key, public, info=b"age-encryption.org/mlkem768x25519")
    encapsulated, body = sealed[:1120], sealed[1120:]
    header = f"age-encryption.org/v1\n-> mlkem768x25519 {_base64(encapsulated)}\n{_base64(body)}\n---".encode()
    tag = hmac.HMAC(_derived(file_key, b"", b"header"), hashes.SHA256())
    tag.update(header)
    # One chunk, which is the last one.
    payload = ChaCha20Poly1305(_derived(file_key, nonce, b"payload")).encrypt(bytes(11) + b"\x01", content, None)
    return header + f" {_base64(tag.finalize())}\n".encode() + nonce + payload


def _derived(file_key: bytes, salt: bytes, info: bytes) -> bytes:
    return HKDF(hashes.SHA256(), 32, salt=salt, info=info).derive(file_key)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")


def _armored(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    lines = [text[start : start + _LINE] for start in range(0, len(text), _LINE)]
    return "\n".join(["-----BEGIN AGE ENCRYPTED FILE-----", *lines, "-----END AGE ENCRYPTED FILE-----", ""])


def _dearmored(text: str) -> bytes:
    return base64.b64decode("".join(line for line in text.splitlines() if not line.startswith("-----")))
