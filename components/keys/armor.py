"""Text armor: which blocks between `-----BEGIN …-----` and `-----END …-----` a text holds.

Source: RFC 7468 (PEM), RFC 9580 section 6 (OpenPGP).
"""

from __future__ import annotations

import re

_BEGINNING = re.compile(r"^-----BEGIN ([A-Z0-9 ]+)-----[ \t]*$", re.MULTILINE)


def labels(text: str) -> list[str]:
    """What each block of a text calls itself, e.g. `OPENSSH PRIVATE KEY`, in their order."""
    return _BEGINNING.findall(_unix(text))


def is_private(label: str) -> bool:
    """Whether a block of this label holds a private key, in whatever format."""
    return "PRIVATE KEY" in label


def normalised(text: str) -> str:
    """The text with the line ends of Unix, and exactly one at its end."""
    return _unix(text).strip() + "\n"


def is_single_block(text: str, label: str) -> bool:
    """Whether a text is one block of this label from its first line to its last, and nothing else."""
    whole = _unix(text).strip()
    return labels(text) == [label] and whole.startswith("-----BEGIN") and whole.endswith(f"\n-----END {label}-----")


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
