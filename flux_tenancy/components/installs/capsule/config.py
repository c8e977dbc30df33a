"""The `capsule` section: which release of Capsule is installed, how large, and who administrates it.

Values that decide how safe the platform is cannot be configured (components/installs/capsule/component.py).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from flux_tenancy.components.cluster.subjects import Subject
from flux_tenancy.components.config.errors import NOT_A
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import SEMANTIC_VERSION, Sha256, matching
from flux_tenancy.components.installs.product import ControllerResources, Product, UrlOrBundle

CAPSULE = Product(
    title="Capsule",
    name="capsule",
    area="CAP",
    namespace="capsule-system",
    repository="https://github.com/projectcapsule/capsule",
    # Chart values, names of generated objects and custom resources are checked for these (major, minor).
    minors=((0, 14),),
)
CapsuleVersion = Annotated[
    str, *matching(SEMANTIC_VERSION, NOT_A(what="a Capsule release", example="0.14.0")), AfterValidator(CAPSULE.checked)
]
CHART_URL = "https://projectcapsule.github.io/charts/capsule-{version}.tgz"


class CapsuleChart(UrlOrBundle):
    """Where the archive of Capsule's Helm chart comes from, if not from Capsule's own repository."""


class CapsuleConfig(Section):
    """The Capsule release that checks namespaces of tenants."""

    version: CapsuleVersion = Field(
        description="The Capsule release and chart, e.g. `0.14.0`; changing it upgrades a running cluster."
    )
    sha256: Sha256 = Field(description="Digest of the chart's archive; any other content is refused.")
    chart: CapsuleChart = Field(
        default_factory=CapsuleChart, description="Source of the chart; Capsule's own by default."
    )
    administrators: tuple[Subject, ...] = Field(
        min_length=1, description="Subjects that apply this stack; they may change the namespaces of any tenant."
    )
    replicas: int = Field(
        2,
        ge=1,
        le=9,
        description="Replicas of the controller. While none runs, namespaces cannot be created, changed or deleted.",
    )
    resources: ControllerResources | None = Field(
        None, description="Compute resources of the controller, merged over the chart's."
    )

    @property
    def address(self) -> str:
        """Where to fetch the chart from; without meaning for a bundle."""
        return self.chart.url or CHART_URL.format(version=self.version)
