"""Allow-list entries for container images: what they look like and what they allow.

An image is read as container runtimes read it: without a host it is on Docker Hub, and there without a user it is
one of `library`. Source: https://pkg.go.dev/github.com/distribution/reference

The admission policies compare in the same way (components/policies/allowed-images); one table of tests proves both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flux_tenancy.components.config.errors import NOT_A

DEFAULT_REGISTRY = "docker.io"
OFFICIAL_IMAGES = "library"
ANYTHING_BELOW = "*"

# The names of images that can be compared: a first part with a capital letter is a host to runtimes, which one without
# a dot is not otherwise. RE2 syntax, so that admission can use it as well.
_HOST = r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?"
_SEGMENT = r"[a-z0-9]+([._-]+[a-z0-9]+)*"
_TAG = r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
_DIGEST = r"@sha256:[0-9a-f]{64}"
COMPARABLE_IMAGE = rf"^({_HOST}/)?{_SEGMENT}(/{_SEGMENT})*{_TAG}({_DIGEST})?$"
BY_DIGEST = rf"{_DIGEST}$"
IMAGE_PATTERN = rf"^{_HOST}(/{_SEGMENT})*/({_SEGMENT}|\*)$"


@dataclass(frozen=True)
class ImagePattern:
    """An entry of an allow-list.

    Attributes:
        repository: registry and path, e.g. `registry.example.com/org`.
        below: whether everything below it is allowed, but not the repository itself.
    """

    repository: str
    below: bool

    def allows(self, image: str) -> bool:
        """Whether the entry allows an image, as a container names it."""
        if not re.fullmatch(COMPARABLE_IMAGE, image):
            return False
        repository = repository_of(image)
        if self.below:
            return repository.startswith(f"{self.repository}/")
        return repository == self.repository


def read_image_pattern(text: str) -> ImagePattern:
    """An entry, parsed. Raises ValueError: it is anything else, or names no registry."""
    if not re.fullmatch(IMAGE_PATTERN, text) or not _is_host(text.partition("/")[0]):
        raise ValueError(
            NOT_A(
                what="an image repository with its registry",
                example="registry.example.com/org/* or docker.io/library/nginx",
            )
        )
    below = text.endswith(f"/{ANYTHING_BELOW}")
    return ImagePattern(text.removesuffix(f"/{ANYTHING_BELOW}"), below)


def repository_of(image: str) -> str:
    """Registry and path of an image, without tag and digest."""
    name = image.partition("@")[0]
    head, colon, tail = name.rpartition(":")
    if colon and "/" not in tail:
        name = head
    host, _, path = name.partition("/")
    if not path or not _is_host(host):
        host, path = DEFAULT_REGISTRY, name
    if host == DEFAULT_REGISTRY and "/" not in path:
        path = f"{OFFICIAL_IMAGES}/{path}"
    return f"{host}/{path}"


def repository_expression() -> str:
    """CEL to append to a list of images: `repository_of` each of them."""
    hub, official = f"{DEFAULT_REGISTRY}/", f"{DEFAULT_REGISTRY}/{OFFICIAL_IMAGES}/"
    return (
        ".map(image, image.split('@')[0])"
        ".map(image, image.lastIndexOf(':') > image.lastIndexOf('/') "
        "? image.substring(0, image.lastIndexOf(':')) : image)"
        ".map(image, image.contains('/') && (image.split('/')[0].contains('.') || image.split('/')[0].contains(':') "
        f"|| image.split('/')[0] == 'localhost') ? image : '{hub}' + image)"
        f".map(image, image.startsWith('{hub}') && size(image.split('/')) == 2 "
        f"? '{official}' + image.split('/')[1] : image)"
    )


def _is_host(first: str) -> bool:
    """Whether the first part of an image's name is a registry."""
    return "." in first or ":" in first or first == "localhost"
