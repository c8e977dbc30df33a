"""Metrics of a real stack: a real Prometheus reads its controllers, and answers every query that is exported."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.reference.dashboard_picture import page, screenshot
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.extensions.monitoring.objects import objects as objects_of
from tests.e2e.manifests import kustomization
from tests.support.environment import Environment
from tests.support.lab import Lab, RunningCluster, eventually
from tests.support.monitoring import AlertReceiver, Prometheus, monitored
from tests.support.project import CHECKOUT, Project, flux_tenancy
from tests.support.schemas import prometheus_operator_definitions

NAME, ORGANIZATION = "monitoring", "monitoring"
FAST, SLOW, REFUSED, BLOCKED, MENDED, QUEUED = TENANTS = ("fast", "slow", "refused", "blocked", "mended", "queued")
# One for each sync that waits for health, of the slow tenant and the blocked one, and one for everything else.
WORKERS = 3


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
    if tenant in (REFUSED, MENDED):
        return [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "app"},
                 "spec": {"type": "NodePort", "ports": [{"port": 80}]}}]  # fmt: skip
    if tenant == BLOCKED:
        waiting = kustomization(
            "second", BLOCKED, place=BLOCKED, serviceAccountName=BLOCKED, dependsOn=[{"name": "no"}]
        )
        return [note, waiting]
    return [note]


@contextmanager
def running(
    lab: Lab, project: Project, folder: Path, receiver: AlertReceiver
) -> Iterator[tuple[Environment, Prometheus, Path]]:
    """A stack with Kyverno and a tenant for each reason to wait, and a Prometheus that reads it."""
    for tenant in TENANTS:
        files = {"staging/all.yaml": yaml.safe_dump_all(objects(tenant))}
        url = lab.repository(ORGANIZATION, tenant, files, folder / "repositories")
        namespace = {"name": tenant, "annotations": {"contact": f"{tenant}@example.com"}}
        sync = {"path": "./staging", "targetNamespace": tenant, "wait": True, "timeout": "20m"}
        project.tenant(tenant, {"namespaces": [namespace], "source": {"url": url, "interval": "30s"}, "sync": sync})
    with lab.cluster(NAME) as cluster:
        kyverno = lab.kyverno_chart("1.19.1") | {"replicas": 1}
        stack = Environment(lab, project, cluster, flux=lab.bundle(), kyverno=kyverno)
        stack.config["policies"] = {"engine": "both", "sources": {"allowed": ["*"], "plainHttp": True}}
        stack.config["flux"] |= {"extraArgs": {"kustomize-controller": [f"--concurrent={WORKERS}"]}}
        stack.config["monitoring"] = {"objective": {"within": "10s"}}
        stack.config["tenants"] = {tenant: {} for tenant in TENANTS}
        stack.write()
        stack.project.up(NAME)
        exported = folder / "exported"
        done = flux_tenancy(project.folder, "monitoring", "export", str(exported), "--stack", NAME)
        assert done.returncode == 0, done.stderr
        with monitored(lab.tools, exported, cluster.kubeconfig, folder, receiver) as prometheus:
            yield stack, prometheus, exported


@pytest.fixture(scope="module")
def receiver() -> AlertReceiver:
    return AlertReceiver()


@pytest.fixture(scope="module")
def monitoring(
    lab: Lab, project: Project, tmp_path_factory: pytest.TempPathFactory, receiver: AlertReceiver
) -> Iterator[tuple[Environment, Prometheus, Path]]:
    with running(lab, project, tmp_path_factory.mktemp("monitoring"), receiver) as found:
        waits = 'flux_tenancy:waiting_seconds:max{tenant="%s"}'
        for tenant, late in ((FAST, False), (SLOW, True), (REFUSED, True), (BLOCKED, True), (QUEUED, False)):

            def seen(tenant: str = tenant, late: bool = late) -> bool:
                value = found[1].value(waits % tenant)
                return value is not None and (value > 0) == late

            eventually(seen, timeout=120, what=f"wait of {tenant}")
        # Sources are reconciled every 30 s; before that, there is no rate.
        durations = f'flux_tenancy:reconcile_duration_seconds:p95{{tenant="{SLOW}"}}'
        eventually(lambda: found[1].query(durations), timeout=120, what=durations)
        yield found
        # The pictures of docs/monitoring.md.
        if folder := os.environ.get("DASHBOARD_PICTURES"):
            for name, variables in (("platform", {}), ("tenant", {"tenant": SLOW, "namespace": SLOW})):
                dashboard = (found[2] / f"dashboard-{name}.json").read_text()
                screenshot(page(dashboard, found[1].ask, variables), Path(folder, f"dashboard-{name}.png").absolute())


# No policy refuses the tenant that waits for its health check.
EMPTY = {"dashboard-tenant: Syncs and releases that a policy refuses, by policy"}


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
    assert waits_for(prometheus, tenant) & reasons


def test_a_refused_sync_is_counted_with_its_tenant_and_the_policy(
    monitoring: tuple[Environment, Prometheus, Path],
) -> None:
    _, prometheus, _ = monitoring

    def refused() -> dict[str, str]:
        found = prometheus.query("flux_tenancy:refused:count == 1")
        return {metric["tenant"]: metric["policy"] for metric, _ in found}

    both = dict.fromkeys((REFUSED, MENDED), PolicyName.SERVICE_EXPOSURE.value)
    eventually(lambda: refused() == both, timeout=60, what="refusals by tenant and policy")


def test_the_list_of_tenants_has_their_budgets(monitoring: tuple[Environment, Prometheus, Path]) -> None:
    stack, prometheus, _ = monitoring
    options = ("--stack", NAME, "--no-policies", "--prometheus", prometheus.url, "-o", "json")
    done = flux_tenancy(stack.project.folder, "tenant", "list", *options)

    assert done.returncode == 0, done.stderr
    [listed] = json.loads(done.stdout)["stacks"]
    budgets = {each["tenant"]: each["budget"] for each in listed["tenants"]}
    assert budgets.keys() == set(TENANTS)
    assert budgets[REFUSED] < budgets[FAST] <= 1


def push(lab: Lab, cluster: RunningCluster, tenant: str, *manifests: dict[str, Any]) -> float:
    """Commit these objects as all that a tenant has, and have Flux fetch them; returns when."""
    files = {"staging/all.yaml": yaml.safe_dump_all(manifests)}
    lab.git.commit_files(ORGANIZATION, tenant, files, "Change everything")
    cluster.reconcile("gitrepository", tenant, tenant)
    return time.time()


def waits_for(prometheus: Prometheus, tenant: str) -> set[str]:
    """What the syncs of a tenant wait for, by the series of which the dashboards show."""
    found = prometheus.query(f'flux_tenancy:sync:waiting_reason{{exported_namespace="{tenant}"}}')
    return {metric["reason"] for metric, _ in found}


def test_a_commit_that_no_worker_has_begun_with_is_queued(
    lab: Lab, monitoring: tuple[Environment, Prometheus, Path]
) -> None:
    """The fast tenant gets the last worker."""
    stack, prometheus, _ = monitoring
    busy = 'controller_runtime_active_workers{controller="kustomization", pod=~"kustomize-controller.*"}'
    note, *_ = objects(QUEUED)
    push(lab, stack.cluster, FAST, *objects(FAST), deployment("app"))
    eventually(lambda: prometheus.value(busy) == WORKERS, timeout=120, what="busy workers")

    pushed = push(lab, stack.cluster, QUEUED, note | {"data": {"of": "the queue"}})

    eventually(lambda: waits_for(prometheus, QUEUED) == {"Queued"}, timeout=60, what="the reason Queued")
    shown = time.time() - pushed
    assert waits_for(prometheus, FAST) == {"Progressing"}
    push(lab, stack.cluster, FAST, *objects(FAST))
    eventually(lambda: waits_for(prometheus, QUEUED) == set(), timeout=120, what="a free worker")
    print(f"from push to the reason on the dashboard: {shown:.0f} s")


def test_the_contact_of_a_tenant_gets_an_alert_that_stops_when_the_tenant_is_mended(
    lab: Lab, monitoring: tuple[Environment, Prometheus, Path], receiver: AlertReceiver
) -> None:
    stack, prometheus, _ = monitoring
    for tenant in (REFUSED, MENDED):
        labels = {"alertname": "TenantObjectNotReady", "tenant": tenant, "contact": f"{tenant}@example.com"}
        eventually(partial(receiver.states, **labels), timeout=120, what=f"an alert of {tenant}")
        assert {each["annotations"]["runbook_url"] for _, each in receiver.alerts} >= {
            "docs/monitoring.md#why-a-commit-waits"
        }

    pushed = push(lab, stack.cluster, MENDED, *objects(FAST))

    eventually(lambda: receiver.states(**labels)[-1] == "resolved", timeout=180, what="the end of the alert")
    print(f"from push to the end of the alert: {time.time() - pushed:.0f} s")
    still = {"alertname": "TenantObjectNotReady", "tenant": REFUSED}
    assert "resolved" not in receiver.states(**still)
    assert receiver.states(alertname="TenantObjectNotReady", tenant=BLOCKED, name="second") == []


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
    # Each attempt gives the same message, so the same series.
    assert series(f'last_over_time(gotk_resource_apply_failure_info{{exported_namespace="{REFUSED}"}}[1h])') == 1
    # The time of a reconciliation is there for a kind that was reconciled in the last ten minutes.
    assert series(of_rules) in (13, 14, 15)
    documented = " ".join((CHECKOUT / "docs" / "monitoring.md").read_text().split())
    assert "26 series of Flux's controllers, 3 of kube-state-metrics and at most 15 of the rules" in documented


def test_the_definitions_of_prometheus_operator_accept_what_the_stack_applies(
    monitoring: tuple[Environment, Prometheus, Path], tmp_path: Path
) -> None:
    """Strict validation refuses unknown fields, which the API server otherwise drops with a warning."""
    stack, _, _ = monitoring
    for definition in prometheus_operator_definitions(CHECKOUT, tmp_path):
        done = stack.cluster.kubectl("apply", "--server-side", "--filename", str(definition))
        assert done.returncode == 0, done.stderr
    stack.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}})
    stack.config["monitoring"] |= {"operator": True}
    stack.write()
    config, _ = load_offline(NAME, stack.project.folder)
    intended = {(each["kind"], each["metadata"]["name"]): each for each in objects_of(config)}

    for each in intended.values():
        assert stack.cluster.create(each, "--dry-run=server", "--validate=strict") == ""
    [monitor] = [each for (_, name), each in intended.items() if name == "flux-tenancy-kyverno"]
    unknown = monitor | {"spec": monitor["spec"] | {"selectors": {}}}
    assert 'unknown field "spec.selectors"' in stack.cluster.create(unknown, "--dry-run=server", "--validate=strict")
    stack.up()

    # The definition of PodMonitors has defaults, which the live ones have in addition.
    for name in ("flux-tenancy-flux", "flux-tenancy-kyverno"):
        live = stack.cluster.get("PodMonitor", name, "monitoring")["spec"]
        assert live["selector"] == intended["PodMonitor", name]["spec"]["selector"]
    rules = stack.cluster.get("PrometheusRule", "flux-tenancy", "monitoring")["spec"]
    assert rules == intended["PrometheusRule", "flux-tenancy"]["spec"]
