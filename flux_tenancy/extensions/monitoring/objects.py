"""What a monitoring system reads: files of Prometheus, or the objects of Prometheus Operator and Grafana.

Source: https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.components.stack.platform_objects import MONITORING_API, POD_MONITOR, PROMETHEUS_RULE
from flux_tenancy.components.vocabulary.names import MANAGED_BY_LABEL, MANAGER
from flux_tenancy.extensions.monitoring.targets import state_metrics, targets
from flux_tenancy.operations.admission.answers import REFUSED_BY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flux_tenancy.components.stack.config import MonitoringConfig, StackConfig
    from flux_tenancy.components.tenant.config import TenantConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

_DASHBOARD_LABEL = {"grafana_dashboard": "1"}
"""The label by which the sidecar of Grafana's chart finds dashboards."""
_STATE_METRICS = "kube-state-metrics.yaml"
_CONTACTS = ("contact", "owner", "team")
_APPLY_SECONDS = 15 * 60
"""The time to apply, in addition to the timeout of the health checks."""


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
    return {
        "scrape.yaml": _as_yaml({"scrape_configs": [each.scrape() for each in targets(config)]}),
        "rules.yaml": _as_yaml({"groups": rule_groups(config)}),
        _STATE_METRICS: _as_yaml(state_metrics()),
        **_dashboards(),
    }


def objects(config: StackConfig) -> list[Manifest]:
    """The same as objects of Kubernetes, for `monitoring.operator`."""
    section = config.monitoring

    def meta(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
        return {"name": name, "namespace": section.namespace, "labels": {MANAGED_BY_LABEL: MANAGER, **labels}}

    def monitoring(kind: str, name: str, spec: dict[str, Any]) -> Manifest:
        return {"apiVersion": MONITORING_API, "kind": kind, "metadata": meta(name, section.labels), "spec": spec}

    def config_map(file: str, text: str, labels: Mapping[str, str]) -> Manifest:
        name = f"flux-tenancy-{file.partition('.')[0]}"
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(name, labels), "data": {file: text}}

    return [
        *(monitoring(POD_MONITOR, f"flux-tenancy-{each.job}", each.monitor()) for each in targets(config)),
        monitoring(PROMETHEUS_RULE, "flux-tenancy", {"groups": rule_groups(config)}),
        config_map(_STATE_METRICS, _as_yaml(state_metrics()), {}),
        *(config_map(file, text, _DASHBOARD_LABEL) for file, text in _dashboards().items()),
    ]


_RULES = Path(__file__).with_name("rules.yaml")
_TENANT, _NAMESPACE = "flux_tenancy:tenant:info", "flux_tenancy:namespace:info"
_OF_TENANT = "({expr}) * on (tenant) group_left (contact, lane) " + _TENANT


def rule_groups(config: StackConfig) -> list[dict[str, Any]]:
    """The groups of rules of a stack: who owns which namespace, what is recorded of each tenant, and the alerts."""
    text = _RULES.read_text(encoding="utf-8")
    for name, value in _values(config).items():
        text = text.replace(f"<{name}>", value)
    rules = yaml.safe_load(text)
    return [
        {"name": "flux-tenancy-tenants", "rules": list(_tenants(config))},
        {"name": "flux-tenancy", "rules": [{key: each[key] for key in ("record", "expr")} for each in rules["record"]]},
        {"name": "flux-tenancy-alerts", "rules": [_alert(each, config.monitoring) for each in rules["alerts"]]},
    ]


def _values(config: StackConfig) -> dict[str, str]:
    """What rules.yaml takes from the stack, by name.

    Source of the rates: https://sre.google/workbook/alerting-on-slos/#6-multiwindow-multi-burn-rate-alerts
    """
    objective = config.monitoring.objective
    late = 1 - objective.percent / 100
    hours = objective.days * 24
    return {
        "longest": str(_longest(config)),
        "within": objective.within,
        "within in seconds": f"{seconds(objective.within):g}",
        "late": f"{late:g}",
        "days": str(objective.days),
        "2 % in 1 h": f"{late * 0.02 * hours:g}",
        "5 % in 6 h": f"{late * 0.05 * hours / 6:g}",
        "refusal": f"(?s).*?{REFUSED_BY}.*",
    }


def _longest(config: StackConfig) -> int:
    """Seconds that a worker may be busy with one object."""
    own = [each.policies.maximum_timeout for each in config.active_tenants.values()]
    return int(max(seconds(each) for each in [config.policies.maximum_timeout, *own] if each)) + _APPLY_SECONDS


def _contact(tenant: TenantConfig) -> str:
    """The first annotation of a namespace of the tenant that names the team, or else the names of its developers."""
    found = (each.annotations[key] for each in tenant.namespaces for key in _CONTACTS if each.annotations.get(key))
    return next(found, "") or ", ".join(each.name for each in tenant.people.developers)


def _tenants(config: StackConfig) -> list[dict[str, Any]]:
    """A constant series for each tenant and each of its namespaces, by which other series get the tenant."""
    found = []
    for name, tenant in config.active_tenants.items():
        contact = _contact(tenant) or config.monitoring.contact or ""
        labels = {"tenant": name, "contact": contact, "lane": config.flux.lane_of(tenant.lane)}
        found.append({"record": _TENANT, "expr": "vector(1)", "labels": labels})
        for namespace in tenant.namespace_names:
            labels = {"namespace": namespace, "tenant": name}
            found.append({"record": _NAMESPACE, "expr": "vector(1)", "labels": labels})
    return found


def _alert(rule: dict[str, Any], section: MonitoringConfig) -> dict[str, Any]:
    expr = rule["expr"].strip()
    folder = (section.documentation or "docs").rstrip("/")
    annotations = {"summary": rule["summary"], "runbook_url": f"{folder}/{rule['runbook']}"}
    labels = {"severity": "warning"}
    if rule.get("of") == "tenant":
        expr = _OF_TENANT.format(expr=expr)
        annotations["contact"] = "{{ $labels.contact }}"
    elif section.contact:
        labels["contact"] = annotations["contact"] = section.contact
    waits = {"for": rule["for"]} if "for" in rule else {}
    return {"alert": rule["alert"], "expr": expr, **waits, "labels": labels, "annotations": annotations}
