"""The part of GnuPG that kustomize-controller uses: it imports keys, and decrypts.

The controller's image contains the real one. This machine may not have it, and its agent cannot listen in a folder as
deep as that of a pod in the lab, since the path of a Unix socket is limited to 107 characters. This one uses Sequoia,
another implementation of OpenPGP.

Source: gpgExec in pgp/keysource.go of sops.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pysequoia

KEYS = "*.imported.asc"


def main(arguments: Sequence[str], stdin: bytes) -> bytes:
    """Run `gpg <arguments>`.

    Args:
        arguments: `--homedir <folder> --batch --import`, or `--homedir <folder> -d`.
        stdin: an armored key, or an armored message.

    Returns:
        Its output.

    Raises:
        SystemExit: the arguments are not supported, or no key can decrypt the message.
    """
    match arguments:
        case ["--homedir", home, "--batch", "--import"]:
            key = pysequoia.Tsk.from_bytes(stdin)
            Path(home, KEYS.replace("*", key.extract_certificate().fingerprint)).write_bytes(stdin)
            return b""
        case ["--homedir", home, "-d"]:
            return _decrypt(Path(home), stdin)
    raise SystemExit(f"the lab's GnuPG does not support `gpg {' '.join(arguments)}`")


def _decrypt(home: Path, message: bytes) -> bytes:
    for file in sorted(home.glob(KEYS)):
        try:
            decrypted = pysequoia.decrypt(message, decryptor=pysequoia.Tsk.from_file(str(file)).decryptor())
        except RuntimeError:
            continue  # encrypted for another key
        if decrypted.bytes is not None:
            return decrypted.bytes
    raise SystemExit("gpg: decryption failed: No secret key")


if __name__ == "__main__":
    sys.stdout.buffer.write(main(sys.argv[1:], sys.stdin.buffer.read()))
