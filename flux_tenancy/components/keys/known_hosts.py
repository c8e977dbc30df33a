"""Host keys of Git hosts, as lines of an SSH `known_hosts` file: checked, and selected for a repository.

Flux accepts no host keys but those in these lines; there is no trust on first use. The keys of the public hosts are
pinned in known_hosts.txt, which says where each host publishes them.

Source: sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT", and what Flux reads of it in github.com/fluxcd/pkg/ssh/knownhosts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from flux_tenancy.components.config.errors import UNREADABLE, Problem, reason_of
from flux_tenancy.components.config.messages import Wording, message_of
from flux_tenancy.components.config.types import unshown
from flux_tenancy.components.config.yaml_files import UNREADABLE_FILE
from flux_tenancy.components.keys import armor
from flux_tenancy.components.keys.armor import InvalidKeyError

_NOT_A_LINE = Wording(
    "FT-CFG-104",
    "is not a line of host, type and key: {reason}",
    "write it like git.example.com ssh-ed25519 AAAA… or [git.example.com]:2222 ssh-ed25519 AAAA…",
)
_WEAK = Wording("FT-CFG-108", "has {what}, which is weak", "use another key of the host")

PINNED = Path(__file__).with_name("known_hosts.txt")

SHORTEST_HOST_RSA = 2048
"""Minimum bits of an RSA host key; shorter ones can be broken with enough resources."""

_TYPES = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")
_SSH_PORT = 22
# A colon outside of brackets is one of an IPv6 address, which has several, never that of a port.
_ADDRESS = re.compile(r"[a-z0-9._-]+|[0-9a-f.]*(:[0-9a-f.]*){2,}|\[[a-z0-9._:-]+\]:[0-9]{1,5}")


@dataclass(frozen=True)
class HostKey:
    """One key of one or more addresses.

    Attributes:
        addresses: `host`, or `[host]:port` where the port is not 22, in lower case.
        type: e.g. `ssh-ed25519`.
        key: the public key itself, base64.
    """

    addresses: tuple[str, ...]
    type: str
    key: str


def parse(line: str) -> HostKey:
    """One line of a `known_hosts` file.

    Raises:
        InvalidKeyError: Flux cannot use the line, or it would trust hosts that it does not name.
    """
    words = line.split()
    if len(line.strip().splitlines()) > 1 or len(words) < 3 or words[0] in _TYPES:
        raise _unusable("it needs these three parts, on one line")
    addresses, kind, key = words[0].lower().split(","), words[1], words[2]
    if not all(map(_ADDRESS.fullmatch, addresses)):
        # Reviewers could not see which hosts it trusts.
        raise _unusable(f"{words[0]!r} is not a host, or several; patterns, markers and hashes are not supported")
    _check_key(kind, key)
    return HostKey(tuple(map(_plain, addresses)), kind, key)


def _unusable(reason: str) -> InvalidKeyError:
    return InvalidKeyError(_NOT_A_LINE(reason=reason))


def check_line(line: str) -> str:
    """The line without surrounding spaces. Raises InvalidKeyError: see `parse`."""
    parse(line)
    return line.strip()


def address_of(url: str) -> str:
    """The host of an ssh URL as in a `known_hosts` file: `host`, or `[host]:port` where the port is not 22."""
    parts = urlsplit(url)
    port = parts.port or _SSH_PORT
    host = parts.hostname or ""
    return host if port == _SSH_PORT else f"[{host}]:{port}"


def keys_for(url: str, known: Sequence[str]) -> list[HostKey]:
    """The keys of the host of an ssh URL: those in `known`, or the pinned ones if there are none.

    Args:
        known: lines of a `known_hosts` file, each checked by `parse`.
    """
    address = address_of(url)
    own = [key for key in map(parse, known) if address in key.addresses]
    return own or [key for key in pinned() if address in key.addresses]


def lines_for(url: str, known: Sequence[str]) -> str:
    """The same keys as the text of `known_hosts` in Flux's Secret, for this host alone; empty if it is unknown."""
    address = address_of(url)
    lines = [f"{address} {key.type} {key.key}\n" for key in keys_for(url, known)]
    return "".join(dict.fromkeys(lines))


@cache
def pinned() -> tuple[HostKey, ...]:
    """The keys of the public Git hosts."""
    return tuple(parse(line) for _, line in entries(PINNED.read_text(encoding="utf-8")))


def entries(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, without comments and empty lines."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()


def _plain(address: str) -> str:
    """The address without port 22, which OpenSSH and Flux leave out."""
    host, bracket, port = address.removeprefix("[").partition("]:")
    return host if bracket and int(port) == _SSH_PORT else address


def _check_key(kind: str, key: str) -> None:
    if kind == "ssh-dss":
        raise InvalidKeyError(_WEAK(what="a DSA key"))
    if kind not in _TYPES:
        raise _unusable(f"{kind!r} is none of the types {', '.join(_TYPES)}")
    try:
        public = load_ssh_public_key(f"{kind} {key}".encode())
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidKeyError(armor.DAMAGED(what="host key")) from None
    if isinstance(public, rsa.RSAPublicKey) and public.key_size < SHORTEST_HOST_RSA:
        raise InvalidKeyError(_WEAK(what=f"an RSA key of only {public.key_size} bits"))


def read_known_hosts(section: Any, stack_file: str, project: Path) -> tuple[tuple[str, ...], list[Problem]]:
    """The lines of the file that a `git` section names, and its problems; nothing where it names no file.

    Args:
        section: the section, not validated yet.
        project: folder of the Pulumi project, where relative paths start.
    """
    name = section.get("knownHostsFile") if isinstance(section, Mapping) else None
    if not isinstance(name, str):
        return (), []
    try:
        text = (project / Path(name).expanduser()).read_text(encoding="utf-8")
    except UNREADABLE as error:
        return (), [Problem(stack_file, "git.knownHostsFile", UNREADABLE_FILE(reason=reason_of(error)).of(name))]
    lines, problems = [], []
    for number, line in entries(text):
        try:
            lines.append(check_line(line))
        except InvalidKeyError as error:
            problems.append(Problem(name, f"line {number}", message_of(error)))
    return tuple(lines), problems


KnownHost = Annotated[str, *unshown(check_line, "a line of an SSH `known_hosts` file")]
