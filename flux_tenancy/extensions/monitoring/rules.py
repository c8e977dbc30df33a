"""Recording rules and alerts, as groups of a Prometheus rule file.

Source: https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from flux_tenancy.components.config.types import seconds
from flux_tenancy.operations.admission.answers import REFUSED_BY

if TYPE_CHECKING:
    from flux_tenancy.components.stack.monitoring import MonitoringConfig
    from flux_tenancy.extensions.monitoring.facts import MonitoredStack

_RULES = Path(__file__).with_name("rules.yaml")
_TENANT, _NAMESPACE = "flux_tenancy:tenant:info", "flux_tenancy:namespace:info"
_OF_TENANT = "({expr}) * on (tenant) group_left (contact, lane) " + _TENANT


def rule_groups(facts: MonitoredStack) -> list[dict[str, Any]]:
    """The groups of rules of a stack: who owns which namespace, what is recorded of each tenant, and the alerts."""
    text = _RULES.read_text(encoding="utf-8")
    for name, value in _values(facts).items():
        text = text.replace(f"<{name}>", value)
    rules = yaml.safe_load(text)
    return [
        {"name": "flux-tenancy-tenants", "rules": list(_tenants(facts))},
        {"name": "flux-tenancy", "rules": [{key: each[key] for key in ("record", "expr")} for each in rules["record"]]},
        {"name": "flux-tenancy-alerts", "rules": [_alert(each, facts.section) for each in rules["alerts"]]},
    ]


def _values(facts: MonitoredStack) -> dict[str, str]:
    """What rules.yaml takes from the stack, by name.

    Source of the rates: https://sre.google/workbook/alerting-on-slos/#6-multiwindow-multi-burn-rate-alerts
    """
    objective = facts.section.objective
    late = 1 - objective.percent / 100
    hours = objective.days * 24
    return {
        "longest": str(facts.longest),
        "within": objective.within,
        "within in seconds": f"{seconds(objective.within):g}",
        "late": f"{late:g}",
        "days": str(objective.days),
        "2 % in 1 h": f"{late * 0.02 * hours:g}",
        "5 % in 6 h": f"{late * 0.05 * hours / 6:g}",
        "refusal": f"(?s).*?{REFUSED_BY}.*",
    }


def _tenants(facts: MonitoredStack) -> list[dict[str, Any]]:
    """A constant series for each tenant and each of its namespaces, by which other series get the tenant."""
    found = []
    for tenant in facts.tenants:
        labels = {"tenant": tenant.name, "contact": tenant.contact, "lane": tenant.lane}
        found.append({"record": _TENANT, "expr": "vector(1)", "labels": labels})
        for namespace in tenant.namespaces:
            labels = {"namespace": namespace, "tenant": tenant.name}
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
