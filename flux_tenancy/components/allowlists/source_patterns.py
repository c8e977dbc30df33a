"""Allow-list entries for sources: what they look like and what they allow.

An entry is compared part by part: scheme, user, host and port must be the same, and the path the same or, where the
entry ends in `/*`, the same or below it. So `https://git.example.com/team/*` allows `https://git.example.com/team` and
`https://git.example.com/team/apps`, and neither `https://git.example.com/team-evil/apps` nor
`https://git.example.com.evil.example/team/apps`. Both are compared in their canonical spelling.

The admission policies compare in the same way (components/policies/allowed-sources); one table of tests proves both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flux_tenancy.components.config.messages import Message

ANYTHING = "*"
"""The entry that allows every URL."""
ANYTHING_BELOW = "*"

# Sources that are named without a scheme get one: the endpoint and name of a Bucket `bucket://`, the image of an
# ImageRepository `oci://`.
# The canonical URLs that can be compared: no user except SSH's, no empty, `.` or `..` segment, no query or fragment, no
# capital letters in the host. The only escape is that of a space, which has no other spelling and no meaning in a
# path's structure. RE2 syntax, so that admission can use it as well.
_USER = r"[a-z0-9][a-z0-9._-]*@"
_HOST = r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])"
_PORT = r"(:[1-9][0-9]{0,4})?"
_SEGMENT = r"/\.?[A-Za-z0-9_~]([A-Za-z0-9._~-]|%20)*"
# Charts and artifacts may be at the root of a host; a bucket has a name, and SSH needs a folder.
_AT_HOST = rf"(https|http|oci)://{_HOST}{_PORT}({_SEGMENT})*"
_BELOW_HOST = rf"(bucket://|ssh://({_USER})?){_HOST}{_PORT}"
COMPARABLE_URL = rf"^({_AT_HOST}|{_BELOW_HOST}({_SEGMENT})+)$"
URL_PATTERN = rf"^(\*|{_AT_HOST}(/\*)?|{_BELOW_HOST}(({_SEGMENT})+(/\*)?|/\*))$"

_SLASHES_OF_A_HOST = "https://host".count("/")

# Part of the policy's message, so that it may not change with the words of this program.
EXAMPLE = (
    "write it like https://git.example.com/team/*, ssh://git@git.example.com/team/apps "
    "or oci://registry.example.com/team/*"
)


@dataclass(frozen=True)
class SourcePattern:
    """An entry of an allow-list.

    Attributes:
        authority: scheme, user, host and port, e.g. `ssh://git@git.example.com:2222`; `*` for all.
        path: segments of the path.
        below: whether everything below the path is allowed as well.
    """

    authority: str
    path: tuple[str, ...]
    below: bool

    def allows(self, url: str) -> bool:
        """Whether the entry allows the URL of a source."""
        if not is_comparable(url):
            return False
        if self.authority == ANYTHING:
            return True
        authority, path = _split(url)
        if authority != self.authority:
            return False
        if self.below:
            return path[: len(self.path)] == self.path
        return path == self.path


def canonical(url: str) -> str:
    """The canonical spelling of a URL: no slash at the end, then no `.git` at the end of a path."""
    place = url.removesuffix("/")
    return place.removesuffix(".git") if place.count("/") > _SLASHES_OF_A_HOST else place


def canonical_expression() -> str:
    """CEL to append to a list of URLs: `canonical` each of them."""
    return (
        ".map(url, url.endsWith('/') ? url.substring(0, size(url) - 1) : url)"
        f".map(url, url.endsWith('.git') && size(url.split('/')) > {_SLASHES_OF_A_HOST + 1} "
        "? url.substring(0, size(url) - 4) : url)"
    )


def is_comparable(url: str) -> bool:
    """Whether a URL is written in a way that can be compared."""
    return re.fullmatch(COMPARABLE_URL, canonical(url)) is not None


def read_pattern(text: str) -> SourcePattern:
    """An entry, parsed.

    Raises:
        ValueError: it is anything else.
    """
    if not re.fullmatch(URL_PATTERN, canonical(text)):
        raise ValueError(
            Message(
                "FT-CFG-150",
                "is not a URL, nor one that ends in /* for everything at or below it",
                "write it like https://git.example.com/team/*, ssh://git@git.example.com/team/apps or "
                "oci://registry.example.com/team/*",
            )
        )
    if text == ANYTHING:
        return SourcePattern(ANYTHING, (), below=True)
    authority, path = _split(text)
    below = path[-1:] == (ANYTHING_BELOW,)
    return SourcePattern(authority, path[:-1] if below else path, below)


def _split(url: str) -> tuple[str, tuple[str, ...]]:
    """Authority with its scheme, and the path's segments."""
    scheme, _, rest = canonical(url).partition("://")
    host, *path = rest.split("/")
    return f"{scheme}://{host}", tuple(path)
