"""Allow-list entries for container images: what they look like and what they allow.

An image is read as container runtimes read it: without a host it is Docker Hub's, and there without a user
`library`'s. Source: https://pkg.go.dev/github.com/distribution/reference
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT_REGISTRY = "docker.io"
OFFICIAL_IMAGES = "library"
ANYTHING_BELOW = "*"

_HOST = r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?"
_SEGMENT = r"[a-z0-9]+([._-]+[a-z0-9]+)*"
_PATTERN = re.compile(rf"^{_HOST}(/{_SEGMENT})*(/\*)?$")

EXAMPLE = "write it like registry.example.com/org/* or docker.io/library/nginx"


@dataclass(frozen=True)
class ImagePattern:
    """An entry of an allow-list.

    Attributes:
        repository: registry and path, e.g. `registry.example.com/org`.
        below: whether everything below it is allowed, and not the repository itself.
    """

    repository: str
    below: bool

    def allows(self, image: str) -> bool:
        """Whether an image, as a container names it, is one that the entry names."""
        repository = repository_of(image)
        if self.below:
            return repository.startswith(f"{self.repository}/")
        return repository == self.repository


def read_image_pattern(text: str) -> ImagePattern:
    """An entry as text, in parts.

    Raises:
        ValueError: it is no pattern of an image repository, or leaves the registry open.
    """
    host, _, path = text.partition("/")
    if not _PATTERN.fullmatch(text) or not path or not ("." in host or ":" in host or host == "localhost"):
        raise ValueError(f"is not a pattern of an image repository with its registry; {EXAMPLE}")
    below = text.endswith(f"/{ANYTHING_BELOW}")
    return ImagePattern(text.removesuffix(f"/{ANYTHING_BELOW}"), below)


def repository_of(image: str) -> str:
    """Registry and path of an image, without tag and digest."""
    name = image.partition("@")[0]
    head, colon, tail = name.rpartition(":")
    if colon and "/" not in tail:
        name = head
    first, slash, _ = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return name
    return f"{DEFAULT_REGISTRY}/{name}" if slash else f"{DEFAULT_REGISTRY}/{OFFICIAL_IMAGES}/{name}"
