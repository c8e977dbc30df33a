"""What a monitoring system reads: files of Prometheus, or the objects of Prometheus Operator and Grafana."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.components.stack.monitoring import MONITORING_API, POD_MONITOR, PROMETHEUS_RULE
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER
from flux_tenancy.extensions.monitoring.facts import MonitoredStack
from flux_tenancy.extensions.monitoring.rules import rule_groups
from flux_tenancy.extensions.monitoring.targets import state_metrics, targets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

_DASHBOARD_LABEL = {"grafana_dashboard": "1"}
"""The label by which the sidecar of Grafana's chart finds dashboards."""
_STATE_METRICS = "kube-state-metrics.yaml"


class _Dumper(Dumper):
    """Writes text of several lines as a block, and what occurs twice twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def _as_yaml(document: Any) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120)


def _dashboards() -> dict[str, str]:
    """The dashboards by the name of their file; `make generate` writes them from dev/reference/dashboards.yaml."""
    files = sorted(Path(__file__).parent.glob("dashboard-*.json"))
    return {file.name: file.read_text(encoding="utf-8") for file in files}


def files(config: StackConfig) -> dict[str, str]:
    """The files for a Prometheus without the operator, by name."""
    facts = MonitoredStack.of(config)
    return {
        "scrape.yaml": _as_yaml({"scrape_configs": [each.scrape() for each in targets(facts)]}),
        "rules.yaml": _as_yaml({"groups": rule_groups(facts)}),
        _STATE_METRICS: _as_yaml(state_metrics()),
        **_dashboards(),
    }


def objects(config: StackConfig) -> list[Manifest]:
    """The same as objects of Kubernetes, for `monitoring.operator`."""
    facts, section = MonitoredStack.of(config), config.monitoring

    def meta(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
        return {"name": name, "namespace": section.namespace, "labels": {MANAGED_BY_LABEL: MANAGER, **labels}}

    def monitoring(kind: str, name: str, spec: dict[str, Any]) -> Manifest:
        return {"apiVersion": MONITORING_API, "kind": kind, "metadata": meta(name, section.labels), "spec": spec}

    def config_map(file: str, text: str, labels: Mapping[str, str]) -> Manifest:
        name = f"flux-tenancy-{file.partition('.')[0]}"
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(name, labels), "data": {file: text}}

    return [
        *(monitoring(POD_MONITOR, f"flux-tenancy-{each.job}", each.monitor()) for each in targets(facts)),
        monitoring(PROMETHEUS_RULE, "flux-tenancy", {"groups": rule_groups(facts)}),
        config_map(_STATE_METRICS, _as_yaml(state_metrics()), {}),
        *(config_map(file, text, _DASHBOARD_LABEL) for file, text in _dashboards().items()),
    ]
