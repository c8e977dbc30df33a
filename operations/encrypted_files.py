"""The files of a checkout that SOPS has encrypted, and their recipients. Nothing is decrypted.

Source: https://getsops.io/docs/#encryption-protocol; SOPS writes the same metadata in each of its formats.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from flux_tenancy.components.config.errors import reason_of
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable
from flux_tenancy.operations.errors import OperationError

_ENCRYPTED = "ENC[AES256_GCM,"
# `recipient: age1…` in YAML, `"recipient": "age1…"` in JSON, `sops_age__list_0__map_recipient=age1…` in dotenv and INI.
_KEY = re.compile(r"""(?:recipient|fp)["']?\s*[:=]\s*["']?(age1[a-z0-9]+|[0-9A-F]{40,64})\b""")


@dataclass(frozen=True)
class EncryptedFile:
    """One file.

    Attributes:
        path: its path inside the checkout.
        keys: age recipients and OpenPGP fingerprints that it is encrypted for.
    """

    path: PurePosixPath
    keys: frozenset[str]

    def is_below(self, folder: str) -> bool:
        """Whether it is in a folder of the repository, such as `./staging`."""
        return self.path.is_relative_to(PurePosixPath(folder))


def encrypted_files(checkout: Path) -> list[EncryptedFile]:
    """All of them, sorted by path.

    Raises:
        OperationError: the folder does not exist.
    """
    if not checkout.is_dir():
        raise OperationError(
            Message(
                "FT-OPS-008",
                f"folder {checkout} does not exist",
                "name the folder of a checkout, such as --repo ../apps",
            )
        )
    found = []
    for file in sorted(checkout.rglob("*")):
        path = PurePosixPath(file.relative_to(checkout).as_posix())
        if ".git" in path.parts or file.is_symlink() or not file.is_file():
            continue
        try:
            text = file.read_bytes().decode(errors="replace")
        except OSError as error:
            raise OperationError(
                Message("FT-OPS-015", f"{printable(str(file))} cannot be read: {reason_of(error)}", "make it readable")
            ) from None
        if _ENCRYPTED in text:
            found.append(EncryptedFile(path, frozenset(_KEY.findall(text))))
    return found
