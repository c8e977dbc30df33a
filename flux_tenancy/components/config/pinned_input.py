"""Downloads pinned by their digest: fetched from where the configuration says, kept, and compared."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, message_of
from flux_tenancy.components.config.yaml_files import UNREADABLE_FILE

FETCH_TIMEOUT_SECONDS = 30


class PinnedInputError(Exception):
    """The input cannot be used; `key` is the key of `section` to look at."""

    def __init__(self, section: str, key: str, message: str) -> None:
        super().__init__(message)
        self.section = section
        self.key = key

    def as_problem(self, stack_file: str) -> Problem:
        return Problem(stack_file, f"{self.section}.{self.key}", message_of(self))


@dataclass(frozen=True)
class PinnedInput:
    """One file that others publish.

    Attributes:
        section: section of the configuration that names it, e.g. `flux`.
        key: key of that section that holds `url` and `bundle`, e.g. `manifests`.
        url: where to fetch it from.
        bundle: path of a local file instead, or None; relative paths start at the project.
        sha256: its digest, 64 hexadecimal digits.
        suffix: extension of the kept file, e.g. `.yaml`.
    """

    section: str
    key: str
    url: str
    bundle: str | None
    sha256: str
    suffix: str

    @property
    def source(self) -> str:
        """Where it comes from, for messages."""
        return self.bundle or self.url

    def error(self, key: str, message: str) -> PinnedInputError:
        return PinnedInputError(self.section, key, message)


def read_pinned(wanted: PinnedInput, project: Path) -> bytes:
    """The content of the file.

    Raises:
        PinnedInputError: the source cannot be reached or read, or the digest does not match.
    """
    content = _fetch(wanted, project)
    digest = hashlib.sha256(content).hexdigest()
    if digest != wanted.sha256:
        raise wanted.error(
            "sha256",
            Message(
                "FT-CFG-030",
                f"{wanted.source} has the SHA-256 digest {digest}, expected {wanted.sha256}",
                f"compare it with the release's checksums, and correct {wanted.section}.sha256 only if you trust "
                "this file",
            ),
        )
    keep(_kept_file(wanted), content)
    return content


def keep(file: Path, content: bytes) -> bool:
    """Write a file unless it has this content already; whether it has it now."""
    try:
        if file.exists() and file.read_bytes() == content:
            return True
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_bytes(content)
        partial.replace(file)
    except OSError:
        return False
    return True


def _fetch(wanted: PinnedInput, project: Path) -> bytes:
    if wanted.bundle is not None:
        path = project / Path(wanted.bundle).expanduser()
        try:
            return path.read_bytes()
        except OSError as error:
            unreadable = UNREADABLE_FILE(reason=error.strerror).of(wanted.bundle)
            raise wanted.error(f"{wanted.key}.bundle", unreadable) from None
    kept = _kept(wanted)
    if kept is not None:
        return kept
    import requests

    try:
        response = requests.get(wanted.url, timeout=FETCH_TIMEOUT_SECONDS)
        response.raise_for_status()
    except requests.RequestException as error:
        status = error.response.status_code if error.response is not None else None
        reason = f"the server answers {status}" if status else "the server cannot be reached"
        raise wanted.error(
            wanted.key,
            Message(
                "FT-CFG-032",
                f"{wanted.url} cannot be fetched: {reason}",
                f"check {wanted.section}.version and the network, or name a local file in "
                f"{wanted.section}.{wanted.key}.bundle",
            ),
        ) from None
    return response.content


def _kept_file(wanted: PinnedInput) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root, "flux-tenancy", "releases", f"{wanted.sha256}{wanted.suffix}")


def _kept(wanted: PinnedInput) -> bytes | None:
    """The file as fetched earlier, so that a preview needs no network; None where it is missing or was changed."""
    try:
        content = _kept_file(wanted).read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == wanted.sha256 else None
