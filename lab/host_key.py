"""The key by which an SSH server is known, made by the lab so that clients can pin it before they connect."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lab.files import SECRET, write_file
from lab.processes import LOOPBACK


@dataclass(frozen=True)
class HostKey:
    """An Ed25519 host key of a server on loopback.

    Attributes:
        file: the private key, in OpenSSH's format.
        known_hosts: file that clients trust, https://man.openbsd.org/sshd.8#SSH_KNOWN_HOSTS_FILE_FORMAT.
        port: of the server.
    """

    file: Path
    known_hosts: Path
    port: int

    def ensure(self) -> bool:
        """Make the key where there is none that can be used, and write the file for clients.

        Returns:
            Whether the key is a new one, which a running server does not have yet.

        Raises:
            LabError: a file cannot be written.
        """
        key = self._read()
        is_new = key is None
        if key is None:
            key = Ed25519PrivateKey.generate()
            pem = key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
            )
            write_file(self.file, pem.decode(), SECRET)
        public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        write_file(self.known_hosts, f"[{LOOPBACK}]:{self.port} {public.decode()}\n")
        return is_new

    def _read(self) -> Ed25519PrivateKey | None:
        try:
            key = serialization.load_ssh_private_key(self.file.read_bytes(), password=None)
        except (OSError, ValueError):
            return None
        return key if isinstance(key, Ed25519PrivateKey) else None
