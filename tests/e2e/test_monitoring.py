"""Metrics of a real stack: a real Prometheus reads its controllers, and answers every query that is exported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.manifests import kustomization
from tests.support.environment import Environment
from tests.support.flux_tenancy import flux_tenancy
from tests.support.lab import Lab, eventually
from tests.support.monitoring import Prometheus, monitored
from tests.support.project import CHECKOUT, Project

NAME, ORGANIZATION = "monitoring", "monitoring"
FAST, SLOW, REFUSED, BLOCKED = "fast", "slow", "refused", "blocked"


def deployment(name: str) -> dict[str, Any]:
    """One that never becomes healthy, since Pod Security refuses its pods."""
    container = {"name": "app", "image": "registry.example.com/app:1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }


def objects(tenant: str) -> list[dict[str, Any]]:
    """What a tenant's repository has."""
    note = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}, "data": {"of": tenant}}
    if tenant == SLOW:
        return [note, deployment("app")]
    if tenant == REFUSED:
        return [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "app"},
                 "spec": {"type": "NodePort", "ports": [{"port": 80}]}}]  # fmt: skip
    if tenant == BLOCKED:
        waiting = kustomization(
            "second", BLOCKED, place=BLOCKED, serviceAccountName=BLOCKED, dependsOn=[{"name": "no"}]
        )
        return [note, waiting]
    return [note]


@contextmanager
def running(lab: Lab, project: Project, folder: Path) -> Iterator[tuple[Environment, Prometheus, Path]]:
    """A stack with Kyverno and a tenant for each reason to wait, and a Prometheus that reads it."""
    for tenant in (FAST, SLOW, REFUSED, BLOCKED):
        files = {"staging/all.yaml": yaml.safe_dump_all(objects(tenant))}
        url = lab.repository(ORGANIZATION, tenant, files, folder / "repositories")
        namespace = {"name": tenant, "annotations": {"contact": f"{tenant}@example.com"}}
        sync = {"path": "./staging", "targetNamespace": tenant, "wait": True}
        project.tenant(tenant, {"namespaces": [namespace], "source": {"url": url, "interval": "30s"}, "sync": sync})
    with lab.cluster(NAME) as cluster:
        kyverno = lab.kyverno_chart("1.19.1") | {"replicas": 1}
        stack = Environment(lab, project, cluster, flux=lab.bundle(), kyverno=kyverno)
        stack.config["policies"] = {"engine": "both", "sources": {"allowed": ["*"], "plainHttp": True}}
        stack.config["tenants"] = {FAST: {}, SLOW: {}, REFUSED: {}, BLOCKED: {}}
        stack.write()
        stack.project.up(NAME)
        exported = folder / "exported"
        done = flux_tenancy(project.folder, "monitoring", "export", str(exported), "--stack", NAME)
        assert done.returncode == 0, done.stderr
        with monitored(lab.tools, exported, cluster.kubeconfig, folder) as prometheus:
            yield stack, prometheus, exported


@pytest.fixture(scope="module")
def monitoring(
    lab: Lab, project: Project, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Environment, Prometheus, Path]]:
    with running(lab, project, tmp_path_factory.mktemp("monitoring")) as found:
        waits = 'flux_tenancy:waiting_seconds:max{tenant="%s"}'
        for tenant, late in ((FAST, False), (SLOW, True), (REFUSED, True), (BLOCKED, True)):

            def seen(tenant: str = tenant, late: bool = late) -> bool:
                value = found[1].value(waits % tenant)
                return value is not None and (value > 0) == late

            eventually(seen, timeout=120, what=f"wait of {tenant}")
        # Sources are reconciled every 30 s; before that, there is no rate.
        durations = f'flux_tenancy:reconcile_duration_seconds:p95{{tenant="{SLOW}"}}'
        eventually(lambda: found[1].query(durations), timeout=120, what=durations)
        yield found


# With both engines, the API server refuses first, and Kyverno does not see the request.
EMPTY = {"dashboard-tenant: Refusals by Kyverno, by policy"}


def queries(exported: Path) -> dict[str, str]:
    """The queries of the dashboards for the tenant that waits for its health check, by panel."""
    found = {}
    for file in sorted(exported.glob("dashboard-*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel["targets"]:
                expr = target["expr"].replace("$tenant", SLOW).replace("$namespace", SLOW)
                found[f"{file.stem}: {panel['title']}"] = expr
    return found


def test_every_query_of_the_dashboards_has_data(monitoring: tuple[Environment, Prometheus, Path]) -> None:
    _, prometheus, exported = monitoring
    asked = queries(exported)

    empty = {panel for panel, expr in asked.items() if not prometheus.query(expr)}

    assert len(asked) > 15
    assert empty == EMPTY


def test_every_rule_is_evaluated_and_every_recorded_series_is_there(
    monitoring: tuple[Environment, Prometheus, Path],
) -> None:
    _, prometheus, exported = monitoring
    groups = prometheus.ask("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]

    assert [rule["name"] for rule in rules if rule["health"] != "ok"] == []
    recorded = {rule["name"] for rule in rules if rule["type"] == "recording"}
    assert len(recorded) > 8
    assert {name for name in recorded if not prometheus.query(name)} == set()


def test_each_controller_is_read(monitoring: tuple[Environment, Prometheus, Path]) -> None:
    _, prometheus, _ = monitoring

    up = {metric["pod"].rsplit("-", 2)[0]: value for metric, value in prometheus.query('up{job=~"flux|kyverno"}')}

    assert up == dict.fromkeys(
        (
            "source-controller",
            "kustomize-controller",
            "helm-controller",
            "notification-controller",
            "kyverno-admission-controller",
            "kyverno-background-controller",
        ),
        1,
    )


@pytest.mark.parametrize(
    ("tenant", "name", "reasons"),
    [
        (SLOW, SLOW, {"Progressing", "HealthCheckFailed"}),
        (REFUSED, REFUSED, {"ReconciliationFailed"}),
        (BLOCKED, "second", {"DependencyNotReady"}),
    ],
)
def test_a_sync_that_waits_has_the_reason(
    monitoring: tuple[Environment, Prometheus, Path], tenant: str, name: str, reasons: set[str]
) -> None:
    _, prometheus, _ = monitoring
    labels = f'customresource_kind="Kustomization", exported_namespace="{tenant}", name="{name}"'
    [(metric, _)] = prometheus.query(f"gotk_resource_info{{{labels}}}")

    assert metric["reason"] in reasons


def test_a_tenant_costs_as_many_series_as_the_documentation_says(
    monitoring: tuple[Environment, Prometheus, Path],
) -> None:
    """A tenant with one source, one Kustomization and one namespace."""
    _, prometheus, _ = monitoring

    def series(selector: str) -> float | None:
        return prometheus.value(f"count({selector})")

    own = f'exported_namespace="{FAST}"'
    of_rules = f'{{__name__=~"flux_tenancy:.+", tenant="{FAST}"}} or {{__name__=~"flux_tenancy:.+", {own}}}'
    assert series(f'{{job="flux", namespace="{FAST}"}}') == 26
    assert series(f'{{job="kube-state-metrics", {own}}}') == 3
    # The time of a reconciliation is there for a kind that was reconciled in the last ten minutes.
    assert series(of_rules) in (12, 13, 14)
    documented = " ".join((CHECKOUT / "docs" / "monitoring.md").read_text().split())
    assert "26 series of Flux's controllers, 3 of kube-state-metrics and at most 14 of the rules" in documented
