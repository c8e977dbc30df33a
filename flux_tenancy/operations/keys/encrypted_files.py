"""The files of a checkout that SOPS has encrypted, and their recipients. Nothing is decrypted.

Source: https://getsops.io/docs/#encryption-protocol; SOPS writes the same metadata in each of its formats.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from flux_tenancy.components.config.errors import reason_of
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable
from flux_tenancy.project.errors import OperationError

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
    try:
        for each in sorted(_files(checkout)):
            text = each.read_bytes().decode(errors="replace")
            if _ENCRYPTED in text:
                path = PurePosixPath(each.relative_to(checkout).as_posix())
                found.append(EncryptedFile(path, frozenset(_KEY.findall(text))))
    except OSError as error:
        file = printable(str(error.filename))
        raise OperationError(
            Message("FT-OPS-015", f"{file} cannot be read: {reason_of(error)}", "make it readable")
        ) from None
    return found


def _files(checkout: Path) -> Iterator[Path]:
    """All files but Git's own.

    Raises:
        OSError: a folder cannot be read; `Path.rglob` would leave it out.
    """

    def refuse(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(checkout, onerror=refuse):
        folders[:] = [each for each in folders if each != ".git"]
        files = (Path(folder, name) for name in names if name != ".git")
        yield from (each for each in files if each.is_file() and not each.is_symlink())
