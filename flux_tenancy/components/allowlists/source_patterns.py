"""Allow-list entries for sources: what they look like and what they allow.

An entry is compared part by part: scheme, user, host and port must be the same, and the path the same or, where the
entry ends in `/*`, the same or below it. So `https://git.example.com/team/*` allows `https://git.example.com/team` and
`https://git.example.com/team/apps`, and neither `https://git.example.com/team-evil/apps` nor
`https://git.example.com.evil.example/team/apps`. Both are compared in their canonical spelling.

The admission policies compare in the same way (components/policies/allowed-sources); one table of tests proves both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.config.yaml_files import data_of

NOT_COMPARABLE = Wording("FT-CFG-150", "cannot be compared with sources: it {problem}")
ANYTHING = "*"
"""The entry that allows every URL."""
ANYTHING_BELOW = "*"

# Sources that are named without a scheme get one: the endpoint and name of a Bucket `bucket://`, the image of an
# ImageRepository `oci://`.
_FORMS: Mapping[str, Any] = data_of(__file__, "urls.yaml")


def _form(name: str) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda part: _form(part[1]), _FORMS[name])


COMPARABLE_URL, URL_PATTERN = _form("url"), _form("entry")
PROBLEMS: tuple[tuple[str, str], ...] = tuple((pattern, problem) for pattern, problem in _FORMS["problems"])
"""What is wrong with a URL that cannot be compared: the first whose pattern matches. Part of the policy's message."""

_SLASHES_OF_A_HOST = "https://host".count("/")


@dataclass(frozen=True)
class SourcePattern:
    """An entry of an allow-list.

    Attributes:
        authority: scheme, user, host and port, e.g. `ssh://git@git.example.com:2222`; `*` for all.
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


def problem_of(url: str) -> str:
    """What is wrong with a URL that cannot be compared, and what to write instead."""
    return next(problem for pattern, problem in PROBLEMS if re.search(pattern, canonical(url)))


def read_pattern(text: str) -> SourcePattern:
    """An entry, parsed. Raises ValueError: it is anything else."""
    if not re.fullmatch(URL_PATTERN, canonical(text)):
        raise ValueError(NOT_COMPARABLE(problem=problem_of(text)))
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
