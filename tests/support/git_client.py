"""Access to the Git host with a deploy key, and signed commits."""

from __future__ import annotations

import subprocess
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import paramiko
import pysequoia


def ask(url: str, private_key: str, service: str) -> str:
    """Ask the Git host for a service over SSH, as `git` would; returns what it says against it, or nothing.

    Args:
        url: ssh URL of the repository.
        private_key: the deploy key.
        service: `git-upload-pack` to fetch, `git-receive-pack` to push.
    """
    host = urlsplit(url)
    assert host.hostname and host.port, url
    with paramiko.SSHClient() as client:
        client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
        client.connect(
            host.hostname,
            host.port,
            host.username,
            pkey=paramiko.Ed25519Key.from_private_key(StringIO(private_key)),
            allow_agent=False,
            look_for_keys=False,
        )
        _, answer, errors = client.exec_command(f"{service} '{host.path.lstrip('/')}'")
        # A host that agrees begins to list its references, and waits for what is asked of it.
        return "" if answer.read(4).strip() else errors.read().decode()


class Signer:
    """Somebody who signs commits with OpenPGP."""

    def __init__(self, name: str) -> None:
        self._key = pysequoia.Tsk.generate(f"{name} <{name}@example.com>")

    @property
    def public_key(self) -> str:
        return str(self._key.extract_certificate())

    def commit(self, folder: Path, message: str) -> None:
        """Commit everything in a clone, signed."""
        _git(folder, "add", "--all")
        _git(folder, "-c", "user.name=Signer", "-c", "user.email=signer@example.com", "commit", "-m", message)
        commit = _git(folder, "cat-file", "commit", "HEAD")
        head, _, text = commit.partition(b"\n\n")
        signature = pysequoia.sign(self._key.signer(), commit, mode=pysequoia.SignatureMode.DETACHED).decode().strip()
        header = "gpgsig " + "\n ".join(signature.splitlines())
        signed = head + b"\n" + header.encode() + b"\n\n" + text
        name = _git(folder, "hash-object", "-t", "commit", "-w", "--stdin", stdin=signed).decode().strip()
        _git(folder, "reset", "--quiet", "--hard", name)


def _git(folder: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    return subprocess.run(("git", *arguments), cwd=folder, input=stdin, capture_output=True, check=True).stdout
