"""Allow-list entries for sources: what they look like and what they allow.

An entry is compared part by part: scheme, user, host and port must be the same, and the path the same or, where the
entry ends in `/*`, below it. So `https://git.example.com/team/*` allows `https://git.example.com/team/apps` and
neither `https://git.example.com/team-evil/apps` nor `https://git.example.com.evil.example/team/apps`.

The admission policies compare in the same way (components/policies/sources.py); one table of tests holds both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ANYTHING_BELOW = "*"

# Sources that are named without a scheme get one: the endpoint and name of a Bucket `bucket://`, the image of an
# ImageRepository `oci://`.
# Letter by letter what a URL may hold to be compared at all. No user but SSH's, no percent sign, no empty, `.` or `..`
# segment, no query or fragment, no capital letters in the host. RE2 syntax, so that admission can use it as well.
_USER = r"[a-z0-9][a-z0-9._-]*@"
_HOST = r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])"
_PORT = r"(:[1-9][0-9]{0,4})?"
_SEGMENT = r"/[A-Za-z0-9_~][A-Za-z0-9._~-]*"
COMPARABLE_URL = rf"^((https|http|oci|bucket)://|ssh://({_USER})?){_HOST}{_PORT}({_SEGMENT})+/?$"
URL_PATTERN = rf"^((https|http|oci|bucket)://|ssh://({_USER})?){_HOST}{_PORT}(({_SEGMENT})+/?|({_SEGMENT})*/\*)$"

EXAMPLE = (
    "write it like https://git.example.com/team/*, ssh://git@git.example.com/team/apps "
    "or oci://registry.example.com/team/*"
)


@dataclass(frozen=True)
class SourcePattern:
    """An entry of an allow-list.

    Attributes:
        authority: scheme, user, host and port, e.g. `ssh://git@git.example.com:2222`.
        path: segments of the path.
        below: whether everything below the path is allowed, and not the path itself.
    """

    authority: str
    path: tuple[str, ...]
    below: bool

    def allows(self, url: str) -> bool:
        """Whether a source's URL is one that the entry names."""
        if not is_comparable(url):
            return False
        authority, path = _split(url)
        if authority != self.authority:
            return False
        if self.below:
            return len(path) > len(self.path) and path[: len(self.path)] == self.path
        return path == self.path


def is_comparable(url: str) -> bool:
    """Whether a URL is written in the one way in which it can be compared."""
    return re.fullmatch(COMPARABLE_URL, url) is not None


def read_pattern(text: str) -> SourcePattern:
    """An entry as text, in parts.

    Raises:
        ValueError: it is no URL pattern.
    """
    if not re.fullmatch(URL_PATTERN, text):
        raise ValueError(f"is not a URL pattern with a path, or /* for everything at a host; {EXAMPLE}")
    authority, path = _split(text)
    below = path[-1:] == (ANYTHING_BELOW,)
    return SourcePattern(authority, path[:-1] if below else path, below)


def _split(url: str) -> tuple[str, tuple[str, ...]]:
    """Authority with its scheme, and the path's segments; the last one without `.git`."""
    scheme, _, rest = url.rstrip("/").partition("://")
    host, *path = rest.split("/")
    if path:
        path[-1] = path[-1].removesuffix(".git")
    return f"{scheme}://{host}", tuple(path)
