"""The real `sops`, as a tenant's team uses it."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pysequoia
import yaml

SOPS = Path(sysconfig.get_path("scripts"), "sops")


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


def changed(encrypted: str, change: Callable[[dict[str, Any]], None]) -> str:
    """An encrypted file in YAML that somebody without the key has changed."""
    document = yaml.safe_load(encrypted)
    change(document)
    return yaml.safe_dump(document)
