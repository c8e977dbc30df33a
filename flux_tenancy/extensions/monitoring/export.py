"""Writes what a monitoring system reads: files of Prometheus, or the objects of Prometheus Operator and Grafana."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER
from flux_tenancy.extensions.monitoring.rules import rule_groups
from flux_tenancy.extensions.monitoring.targets import state_metrics, targets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flux_tenancy.extensions.monitoring.facts import MonitoredStack

_MONITORING_API = "monitoring.coreos.com/v1"
_DASHBOARD_LABEL = {"grafana_dashboard": "1"}
"""The label by which the sidecar of Grafana's chart finds dashboards."""
STATE_METRICS = "kube-state-metrics.yaml"


class _Dumper(Dumper):
    """Writes text of several lines as a block, and what occurs twice twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def _as_yaml(*documents: Any) -> str:
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=120)


def plain_files(facts: MonitoredStack, documentation: str, boards: Mapping[str, str]) -> dict[str, str]:
    """The files for a Prometheus without the operator, by name.

    Args:
        facts: the stack.
        documentation: address of the folder with the documentation.
        boards: the dashboards as JSON, by name.
    """
    return {
        "scrape.yaml": _as_yaml({"scrape_configs": [each.scrape() for each in targets(facts)]}),
        "rules.yaml": _as_yaml({"groups": rule_groups(facts, documentation)}),
        STATE_METRICS: _as_yaml(state_metrics()),
        **{f"dashboard-{name}.json": text for name, text in boards.items()},
    }


def operator_files(
    facts: MonitoredStack, documentation: str, boards: Mapping[str, str], namespace: str, labels: Mapping[str, str]
) -> dict[str, str]:
    """The same as Kubernetes objects, and a kustomization of them, by the name of the file.

    Args:
        facts: the stack.
        documentation: address of the folder with the documentation.
        boards: the dashboards as JSON, by name.
        namespace: namespace of the objects.
        labels: labels by which the operator selects its objects.
    """

    def meta(name: str, further: Mapping[str, str]) -> dict[str, Any]:
        return {"name": name, "namespace": namespace, "labels": {MANAGED_BY_LABEL: MANAGER, **further}}

    def config_map(name: str, further: Mapping[str, str], file: str, text: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(name, further), "data": {file: text}}

    def monitoring(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        return {"apiVersion": _MONITORING_API, "kind": kind, "metadata": meta(name, labels), "spec": spec}

    objects = {
        **{f"{each.job}.yaml": monitoring("PodMonitor", f"{each.job}-controllers", each.monitor())
           for each in targets(facts)},
        "rules.yaml": monitoring("PrometheusRule", "flux-tenancy", {"groups": rule_groups(facts, documentation)}),
        STATE_METRICS: config_map("flux-tenancy-state-metrics", {}, "config.yaml", _as_yaml(state_metrics())),
        **{f"dashboard-{name}.yaml": config_map(f"flux-tenancy-{name}", _DASHBOARD_LABEL, f"{name}.json", text)
           for name, text in boards.items()},
    }  # fmt: skip
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [*objects],
    }
    return {name: _as_yaml(each) for name, each in objects.items()} | {"kustomization.yaml": _as_yaml(kustomization)}
