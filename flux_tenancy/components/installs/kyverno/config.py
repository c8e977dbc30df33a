"""The `kyverno` section: which release of Kyverno is installed, and how large.

Values that decide how safe the platform is cannot be configured (components/installs/kyverno/objects.py).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from flux_tenancy.components.config.errors import EXACTLY_ONE, NO_EFFECT, NOT_A, MisplacedValueError
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import SEMANTIC_VERSION, Sha256, WebUrl, matching
from flux_tenancy.components.installs.product import ControllerResources, Product

ChartVersion = Annotated[str, *matching(SEMANTIC_VERSION, NOT_A(what="a version of Kyverno's chart", example="3.9.1"))]


KYVERNO = Product(
    title="Kyverno",
    name="kyverno",
    area="KYV",
    namespace="kyverno",
    repository="https://github.com/kyverno/kyverno",
    # Names of webhook configurations, chart values and policy types are checked for these (major, minor).
    minors=((1, 19),),
)
KyvernoVersion = Annotated[
    str, *matching(SEMANTIC_VERSION, NOT_A(what="a Kyverno release", example="1.19.1")), AfterValidator(KYVERNO.checked)
]
CHART_URL = "https://kyverno.github.io/kyverno/kyverno-{version}.tgz"

# The other controllers elect a leader; the second replica is a standby.
STANDBY_REPLICAS = 2


class KyvernoController(StrEnum):
    """The controllers that can be installed; no policy of the platform needs the cleanup controller."""

    ADMISSION = "admission-controller"
    BACKGROUND = "background-controller"
    REPORTS = "reports-controller"


class ChartSource(Section):
    """Where the archive of Kyverno's Helm chart comes from. Each is checked against the same digest."""

    version: ChartVersion | None = Field(
        None, description="Version of the published chart, e.g. `3.9.1`, which differs from Kyverno's."
    )
    url: WebUrl | None = Field(None, description="URL to fetch it from instead.")
    bundle: str | None = Field(None, description="Local file instead, relative to the project or absolute.")

    @model_validator(mode="after")
    def _exactly_one(self) -> ChartSource:
        if [self.version, self.url, self.bundle].count(None) != 2:
            raise ValueError(EXACTLY_ONE(keys="version, url and bundle"))
        return self

    @property
    def address(self) -> str:
        """Where to fetch it from; without meaning for a bundle."""
        return self.url or CHART_URL.format(version=self.version)


class KyvernoConfig(Section):
    """The Kyverno release that checks requests of tenants."""

    version: KyvernoVersion = Field(description="The Kyverno release; changing it upgrades a running cluster.")
    sha256: Sha256 = Field(description="Digest of the chart's archive; any other content is refused.")
    chart: ChartSource = Field(description="Source of the chart.")
    replicas: int = Field(
        3,
        ge=1,
        le=9,
        description="Replicas of the admission controller; while none runs, matching requests are refused. With more "
        f"than one, the other controllers have {STANDBY_REPLICAS}.",
    )
    reports: bool = Field(
        False, description="Install the reports controller, which lists objects that violate a policy."
    )
    resources: dict[KyvernoController, ControllerResources] = Field(
        default_factory=dict, description="Compute resources of a controller, merged over the chart's."
    )

    @model_validator(mode="after")
    def _installed(self) -> KyvernoConfig:
        if KyvernoController.REPORTS in self.resources and not self.reports:
            raise MisplacedValueError(
                ("resources",),
                NO_EFFECT(
                    reason=f"{KyvernoController.REPORTS} is installed only with reports",
                    remedy="set reports to true, or remove its resources",
                ),
            )
        return self
