"""Text armor: the blocks between `-----BEGIN …-----` and `-----END …-----` in a text.

Source: RFC 7468 (PEM), RFC 9580 section 6 (OpenPGP).
"""

from __future__ import annotations

import re

from flux_tenancy.components.config.messages import Wording

EXPOSED = Wording(
    "FT-CFG-720", "contains a private key, which was readable here", "replace the key, and set only {public}"
)
NOT_A_KEY = Wording("FT-CFG-135", "is not {what}", "set {instead}")
DAMAGED = Wording("FT-CFG-124", "is an incomplete or damaged {what}", "copy all of it")
LOCKED = Wording("FT-CFG-139", "is protected by a passphrase, but Flux cannot enter one", "{remedy}")
_BEGINNING = re.compile(r"^-----BEGIN ([A-Z0-9 ]+)-----[ \t]*$", re.MULTILINE)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")


class InvalidKeyError(ValueError):
    """A text is not a usable key, certificate or host key. The message contains nothing of a private key."""


def labels(text: str) -> list[str]:
    """The labels of all blocks of a text, e.g. `OPENSSH PRIVATE KEY`, in their order."""
    return _BEGINNING.findall(_unix(text))


def has_private_key(text: str) -> bool:
    """Whether a private key begins in a text, in any format and at any place."""
    return _PRIVATE_KEY.search(text) is not None


def normalized(text: str) -> str:
    """The text with Unix line endings and exactly one newline at its end."""
    return _unix(text).strip() + "\n"


def is_single_block(text: str, label: str) -> bool:
    """Whether a text is one block with this label and nothing else."""
    whole = _unix(text).strip()
    return labels(text) == [label] and whole.startswith("-----BEGIN") and whole.endswith(f"\n-----END {label}-----")


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
