"""GnuPG as far as kustomize-controller uses it, whose image brings the real one: importing keys, and decrypting.

The machine may have none, and its agent could not listen in a folder as deep as a pod of the lab has: the path of a
Unix socket has 107 characters at most. This one does the same with Sequoia, another implementation of OpenPGP.

Source: gpgExec in pgp/keysource.go of sops.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pysequoia

KEYS = "*.imported.asc"


def main(arguments: Sequence[str], stdin: bytes) -> bytes:
    """Do what `gpg <arguments>` would.

    Args:
        arguments: `--homedir <folder> --batch --import`, or `--homedir <folder> -d`.
        stdin: an armored key, or an armored message.

    Returns:
        What it prints.

    Raises:
        SystemExit: it is asked for something else, or cannot do it; with what to say.
    """
    match arguments:
        case ["--homedir", home, "--batch", "--import"]:
            key = pysequoia.Tsk.from_bytes(stdin)
            Path(home, KEYS.replace("*", key.extract_certificate().fingerprint)).write_bytes(stdin)
            return b""
        case ["--homedir", home, "-d"]:
            return _decrypt(Path(home), stdin)
    raise SystemExit(f"the lab's GnuPG does nothing like gpg {' '.join(arguments)}")


def _decrypt(home: Path, message: bytes) -> bytes:
    for file in sorted(home.glob(KEYS)):
        try:
            decrypted = pysequoia.decrypt(message, decryptor=pysequoia.Tsk.from_file(str(file)).decryptor())
        except RuntimeError:
            continue  # meant for another key
        if decrypted.bytes is not None:
            return decrypted.bytes
    raise SystemExit("gpg: decryption failed: No secret key")


if __name__ == "__main__":
    sys.stdout.buffer.write(main(sys.argv[1:], sys.stdin.buffer.read()))
