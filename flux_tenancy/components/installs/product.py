"""A product that a stack installs: what it is called, where it is released or comes from instead, which of its versions
are supported, and the compute resources of its controllers.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from flux_tenancy.components.config.errors import ONLY_ONE
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import Quantity, WebUrl
from flux_tenancy.components.vocabulary.names import POD_SECURITY_LABEL

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest

_VERSION = re.compile(r"v?(\d+)\.(\d+)\+?(?:\.(\d+))?(?![0-9A-Za-z])")


@dataclass(frozen=True)
class Product:
    """What is known of a product before its release is read.

    Attributes:
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

    def checked(self, version: str) -> str:
        """A version of the configuration. Raises ValueError: it is not supported."""
        if not self.supports(version):
            raise ValueError(self.unsupported())
        return version

    def own_namespace(self) -> Manifest:
        """The product's own namespace, which enforces the strictest Pod Security Standard."""
        metadata = {"name": self.namespace, "labels": {POD_SECURITY_LABEL: "restricted"}}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}

    def unsupported(self) -> Message:
        """What is said of any other version."""
        return Message("FT-CFG-452", f"is not a supported version of {self.title}", f"use {self.versions()}")

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
    """(major, minor) of a version. Raises ValueError: it is not a version."""
    major, minor_part, _ = parse_version(version)
    return major, minor_part


Quantities = dict[Literal["cpu", "memory", "ephemeral-storage"], Quantity]


class ControllerResources(Section):
    """Compute resources of one controller, as in a container's `resources`."""

    requests: Quantities = Field(default_factory=dict, description="Reserved resources, e.g. `cpu: 100m`.")
    limits: Quantities = Field(default_factory=dict, description="Maximum resources, e.g. `memory: 1Gi`.")


class UrlOrBundle(Section):
    """Where a release comes from, if not from where it is published."""

    url: WebUrl | None = Field(None, description="URL to fetch it from instead; by default, the published release.")
    bundle: str | None = Field(
        None,
        description="Local file instead, relative to the project or absolute, for clusters without internet access.",
    )

    @model_validator(mode="after")
    def _at_most_one(self) -> UrlOrBundle:
        if self.url is not None and self.bundle is not None:
            raise ValueError(ONLY_ONE(keys="url and bundle"))
        return self
