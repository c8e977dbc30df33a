"""The `monitoring` section; the extension of that name writes its objects."""

from __future__ import annotations

from importlib.metadata import distribution
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from flux_tenancy.components.cluster.component import PREVIEWER, read_access
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.config.types import DnsLabel, Duration, WebUrl
from flux_tenancy.components.engine.code import DISTRIBUTION
from flux_tenancy.components.rbac.subjects import table
from flux_tenancy.components.vocabulary.manifests import Manifest

if TYPE_CHECKING:
    from flux_tenancy.components.stack.config import StackConfig

MONITORING_API = "monitoring.coreos.com/v1"
POD_MONITOR, PROMETHEUS_RULE = "PodMonitor", "PrometheusRule"
MONITORING_READABLE = table("monitoring.coreos.com: podmonitors prometheusrules")
"""The kinds that previewers read only where the stack has them."""


class Objective(Section):
    """What share of the time no commit of a tenant may be late."""

    percent: Annotated[float, Field(ge=95, lt=100)] = Field(
        99, description="Share of the time in which no commit of a tenant is late."
    )
    within: Duration = Field(
        "5m", description="A commit is late if it is not ready in this time after Flux has fetched it."
    )
    days: Annotated[int, Field(ge=1, le=31)] = Field(30, description="Days for which the share holds.")


class MonitoringConfig(Section):
    """Metrics, alerts and dashboards."""

    operator: bool = Field(
        False, description="Apply PodMonitors, a PrometheusRule and dashboards; needs Prometheus Operator."
    )
    namespace: DnsLabel = Field("monitoring", description="Namespace of these objects, which must exist.")
    labels: dict[str, str] = Field(
        default_factory=dict, description="Labels by which the operator selects PodMonitors and rules."
    )
    contact: str | None = Field(
        None, description="Who gets the platform's alerts, and those of tenants that name no contact."
    )
    documentation: WebUrl | None = Field(
        None, description="URL of the folder with this documentation, for the alerts' `runbook_url`."
    )
    objective: Objective = Field(default_factory=Objective, description="The service level objective of each tenant.")


def monitoring_objects(config: StackConfig) -> list[Manifest]:
    """The objects of Prometheus Operator and Grafana that a stack applies; none unless the section says so."""
    if not config.monitoring.operator:
        return []
    [extension] = distribution(DISTRIBUTION).entry_points.select(group="flux_tenancy.objects", name="monitoring")
    readers = read_access(f"{PREVIEWER}-monitoring", MONITORING_READABLE, config.cluster.previewers)
    return [*readers, *extension.load()(config)]
