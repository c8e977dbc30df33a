"""A product that a stack installs: what it is called, where it is released, and which of its versions are supported."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass


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


def minor(version: str) -> tuple[int, int]:
    """(major, minor) of `2.9.5` or of an API server's `v1.36.3-eks-1234`."""
    major, minor_part = version.removeprefix("v").split(".")[:2]
    return int(major), int(minor_part.rstrip("+"))


def patch(version: str) -> int:
    """The patch number of `2.9.5` or of an API server's `v1.36.3-eks-1234`; 0 without one."""
    found = re.match(r"v?\d+\.\d+\+?\.(\d+)", version)
    return int(found[1]) if found else 0
