"""A product that a stack installs: what it is called, where it is released, and which of its versions are supported."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

_VERSION = re.compile(r"v?(\d+)\.(\d+)\+?(?:\.(\d+))?(?![0-9A-Za-z])")


@dataclass(frozen=True)
class Product:
    """What is known of a product before its release is read.

    Attributes:
        title: what it is called.
        name: name of its section of the configuration, and of its chart and release if it has them.
        area: area of the codes of its messages, e.g. `KYV`.
        namespace: namespace that it is installed in.
        repository: where it is released, each version with its changelog.
        minors: the supported (major, minor) versions.
    """

    title: str
    name: str
    area: str
    namespace: str
    repository: str
    minors: Collection[tuple[int, int]]

    def supports(self, version: str) -> bool:
        return minor(version) in self.minors

    def versions(self) -> str:
        """The supported versions for messages, e.g. `1.19.x`."""
        return ", ".join(f"{major}.{minor_part}.x" for major, minor_part in sorted(self.minors))

    def changelog(self, version: str) -> str:
        """The address where upstream says what is new in a release."""
        return f"{self.repository}/releases/tag/v{version}"


def parse_version(version: str) -> tuple[int, ...]:
    """(major, minor, patch) of `2.9.5` or of an API server's `v1.36.3-eks-1234`; the patch is 0 without one.

    What is not a version is empty, and so before all versions.
    """
    found = _VERSION.match(version)
    return tuple(map(int, found.groups(default="0"))) if found else ()


def minor(version: str) -> tuple[int, int]:
    """(major, minor) of a version.

    Raises:
        ValueError: it is not a version.
    """
    major, minor_part, _ = parse_version(version)
    return major, minor_part
