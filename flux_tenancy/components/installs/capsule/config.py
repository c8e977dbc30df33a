"""The `capsule` section: which release of Capsule is installed, how large, and who administrates it.

Values that decide how safe the platform is cannot be configured (components/installs/capsule/values.py).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator, model_validator

from flux_tenancy.components.cluster.subjects import Subject
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.resources import Resources
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import SEMANTIC_VERSION, Sha256, WebUrl, matching
from flux_tenancy.components.installs.product import Product

CapsuleVersion = Annotated[
    str, *matching(SEMANTIC_VERSION, Message("FT-CFG-800", "is not a Capsule release", "write it like 0.14.0"))
]


CAPSULE = Product(
    title="Capsule",
    name="capsule",
    area="CAP",
    namespace="capsule-system",
    repository="https://github.com/projectcapsule/capsule",
    # Chart values, names of generated objects and custom resources are checked for these (major, minor).
    minors=((0, 14),),
)
CHART_URL = "https://projectcapsule.github.io/charts/capsule-{version}.tgz"


class CapsuleChart(Section):
    """Where the archive of Capsule's Helm chart comes from, if not from Capsule's own repository."""

    url: WebUrl | None = Field(None, description="URL to fetch it from instead.")
    bundle: str | None = Field(
        None,
        description="Path of a local file, for clusters without internet access; relative to the project or absolute.",
    )

    @model_validator(mode="after")
    def _at_most_one(self) -> CapsuleChart:
        if self.url is not None and self.bundle is not None:
            raise ValueError(Message("FT-CFG-802", "needs url or bundle, not both"))
        return self


class CapsuleConfig(Section):
    """The Capsule release that checks namespaces of tenants."""

    version: CapsuleVersion = Field(
        description="The Capsule release to install, e.g. `0.14.0`; its chart has the same version. Changing it "
        "upgrades a running cluster."
    )
    sha256: Sha256 = Field(description="SHA-256 digest of the chart's archive; any other content is refused.")
    chart: CapsuleChart = Field(
        default_factory=CapsuleChart,
        description="Source of the chart; by default, Capsule's own repository.",
    )
    administrators: tuple[Subject, ...] = Field(
        min_length=1,
        description="Users, groups and service accounts that apply this stack; they may add namespaces to any "
        "tenant and remove them.",
    )
    replicas: int = Field(
        2,
        ge=1,
        le=9,
        description="Replicas of the controller; while none runs, namespaces cannot be created, changed or "
        "deleted. With more than one, node drains leave one of them.",
    )
    resources: Resources | None = Field(
        None, description="Compute resources of the controller, merged over the chart's."
    )

    @field_validator("version")
    @classmethod
    def _known_version(cls, version: str) -> str:
        if not CAPSULE.supports(version):
            raise ValueError(
                Message("FT-CFG-801", "is not a supported version of Capsule", f"use {CAPSULE.versions()}")
            )
        return version

    @property
    def address(self) -> str:
        """Where to fetch the chart from; without meaning for a bundle."""
        return self.chart.url or CHART_URL.format(version=self.version)
