"""The `kyverno` section: which release of Kyverno is installed, and how large.

What decides how safe the platform is has no key: it is the same everywhere (components/kyverno/values.py).
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, field_validator, model_validator

from components.config.resources import Resources
from components.config.section import Section
from components.config.types import Sha256, WebUrl
from components.flux.support import minor
from components.kyverno.support import KNOWN_MINORS, known_versions
from components.kyverno.types import ChartVersion, KyvernoVersion

CHART_URL = "https://kyverno.github.io/kyverno/kyverno-{version}.tgz"

# Of the other controllers one works and the others wait to take its place.
STANDBY_REPLICAS = 2


class KyvernoController(StrEnum):
    """The controllers that can be installed; there is none for cleaning up, which no policy of the platform needs."""

    ADMISSION = "admission-controller"
    BACKGROUND = "background-controller"
    REPORTS = "reports-controller"


class ChartSource(Section):
    """Where the archive of Kyverno's Helm chart comes from; each way is held against the same digest."""

    version: ChartVersion | None = Field(
        None,
        description="Version of the published chart, e.g. `3.9.1`; charts count otherwise than Kyverno itself.",
    )
    url: WebUrl | None = Field(None, description="Where to fetch it instead.")
    bundle: str | None = Field(
        None,
        description="Path of a local file, where there is no network; relative paths start at the project.",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> ChartSource:
        if [self.version, self.url, self.bundle].count(None) != 2:
            raise ValueError("give exactly one of version, url and bundle")
        return self

    @property
    def address(self) -> str:
        """Where to fetch it; meaningless for a bundle."""
        return self.url or CHART_URL.format(version=self.version)


class KyvernoConfig(Section):
    """The Kyverno release that admits or refuses what tenants ask for."""

    version: KyvernoVersion = Field(description="The release to install. Changing it upgrades a running cluster.")
    sha256: Sha256 = Field(description="Digest of the chart's archive; any other content is refused.")
    chart: ChartSource = Field(description="Where the chart comes from.")
    replicas: int = Field(
        3,
        ge=1,
        le=9,
        description="Copies of the admission controller, without which nothing that a policy looks at is admitted. "
        f"With more than one, the other controllers have {STANDBY_REPLICAS}, and drains of nodes leave one of each.",
    )
    reports: bool = Field(
        False,
        description="Install the controller that reports what in the cluster breaks a policy, and keep such reports.",
    )
    resources: dict[KyvernoController, Resources] = Field(
        default_factory=dict, description="Compute resources of a controller, laid over the chart's."
    )

    @field_validator("version")
    @classmethod
    def _known_version(cls, version: str) -> str:
        if minor(version) not in KNOWN_MINORS:
            raise ValueError(f"is a Kyverno version that this program does not know; it knows {known_versions()}")
        return version

    @model_validator(mode="after")
    def _installed(self) -> KyvernoConfig:
        if KyvernoController.REPORTS in self.resources and not self.reports:
            raise ValueError(f"resources is for {KyvernoController.REPORTS}, which reports does not install")
        return self
