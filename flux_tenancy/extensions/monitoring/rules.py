"""Recording rules and alerts, as groups of a Prometheus rule file.

Source: https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from flux_tenancy.extensions.monitoring.facts import MonitoredStack

_RULES = Path(__file__).with_name("rules.yaml")
_TENANT, _NAMESPACE = "flux_tenancy:tenant:info", "flux_tenancy:namespace:info"
_OF_TENANT = "({expr}) * on (tenant) group_left (contact, lane) " + _TENANT


def rule_groups(facts: MonitoredStack, documentation: str) -> list[dict[str, Any]]:
    """The groups of rules of a stack: who owns which namespace, what is recorded of each tenant, and the alerts.

    Args:
        facts: the stack.
        documentation: address of the folder with the documentation, for the alerts' runbooks.
    """
    rules = yaml.safe_load(_RULES.read_text(encoding="utf-8"))
    return [
        {"name": "flux-tenancy-tenants", "rules": list(_tenants(facts))},
        {"name": "flux-tenancy", "rules": rules["record"]},
        {"name": "flux-tenancy-alerts", "rules": [_alert(each, facts, documentation) for each in rules["alerts"]]},
    ]


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


def _alert(rule: dict[str, Any], facts: MonitoredStack, documentation: str) -> dict[str, Any]:
    expr = rule["expr"].strip().replace("{{longest}}", str(facts.longest))
    annotations = {"summary": rule["summary"], "runbook_url": f"{documentation.rstrip('/')}/{rule['runbook']}"}
    if rule.get("of") == "tenant":
        expr = _OF_TENANT.format(expr=expr)
        annotations["contact"] = "{{ $labels.contact }}"
    waits = {"for": rule["for"]} if "for" in rule else {}
    labels = {"severity": "warning"}
    return {"alert": rule["alert"], "expr": expr, **waits, "labels": labels, "annotations": annotations}
