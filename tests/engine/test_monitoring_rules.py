"""What `flux-tenancy monitoring export` writes, judged by promtool: it is valid, and each alert fires and stops.

Source: https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/
"""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from sample_project import tenant, write_project, write_stack
from typer.testing import CliRunner

from dev.lab.build import ensure, tools_for
from dev.lab.settings import Settings
from flux_tenancy.command.app import app
from tests.support.monitoring import tool

SHOP = 'exported_namespace="shop", name="shop"'
SYNC = f'customresource_kind="Kustomization", {SHOP}, source_kind="GitRepository", source_name="shop"'
FETCHED = f'gotk_resource_fetched_time_seconds{{customresource_kind="GitRepository", {SHOP}, revision="new"}}'
POD = 'job="flux", namespace="flux-system", pod="kustomize-controller-1"'
KUSTOMIZATIONS = f'{POD}, controller="kustomization"'
RELEASE = f'customresource_kind="HelmRelease", {SHOP}'
CONTAINER = f'{POD}, container="manager"'
TENANT = {"tenant": "shop", "contact": "shop@example.com"}

# By alert, samples a minute from the epoch on; a minute in which the alert fires, and minutes in which it does not.
ALERTS: dict[str, tuple[dict[str, str], int, tuple[int, ...], dict[str, str]]] = {
    # The revision was fetched at the epoch, and is ready half an hour later.
    "TenantSyncBudgetBurnsFast": (
        {
            FETCHED: "0x120",
            f'gotk_resource_info{{{SYNC}, ready="False", revision="old"}}': "1x29",
            f'gotk_resource_info{{{SYNC}, ready="True", revision="new"}}': "_x29 1x90",
        },
        20,
        (4, 40),
        TENANT,
    ),
    "TenantSyncBudgetBurns": (
        {
            FETCHED: "0x300",
            f'gotk_resource_info{{{SYNC}, ready="False", revision="old"}}': "1x119",
            f'gotk_resource_info{{{SYNC}, ready="True", revision="new"}}': "_x119 1x180",
        },
        60,
        (15, 130),
        TENANT,
    ),
    # Each retry is in progress for a while.
    "TenantObjectNotReady": (
        {
            f'gotk_resource_info{{{RELEASE}, ready="False", reason="InstallFailed"}}': "1 stale " * 30,
            f'gotk_resource_info{{{RELEASE}, ready="Unknown", reason="Progressing"}}': "stale 1 " * 30 + "stale",
            f'gotk_resource_info{{{RELEASE}, ready="True"}}': "_x59 1x60",
        },
        45,
        (20, 70),
        TENANT | {"customresource_kind": "HelmRelease", "namespace": "shop", "name": "shop"},
    ),
    "FluxTargetMissing": ({f"up{{{POD}}}": "1x10 0x20 1x30"}, 25, (9, 15, 40), {"pod": "kustomize-controller-1"}),
    "FluxBuildsStuck": (
        {
            f"controller_runtime_active_workers{{{KUSTOMIZATIONS}}}": "1x90",
            f"controller_runtime_reconcile_total{{{KUSTOMIZATIONS}}}": "1+1x9 10x40 11+1x30",
        },
        40,
        (20, 60),
        {"pod": "kustomize-controller-1"},
    ),
    "FluxWorkerBusyTooLong": (
        {f'workqueue_longest_running_processor_seconds{{{POD}, name="kustomization"}}': "0+60x80 0x20"},
        78,
        (60, 90),
        {"name": "kustomization"},
    ),
    "FluxWorkersUsedUp": (
        {
            f"controller_runtime_active_workers{{{KUSTOMIZATIONS}}}": "4x60 3x60",
            f"controller_runtime_max_concurrent_reconciles{{{KUSTOMIZATIONS}}}": "4x120",
        },
        40,
        (20, 70),
        {"controller": "kustomization"},
    ),
    "FluxControllerRestarts": (
        {f"kube_pod_container_status_restarts_total{{{CONTAINER}}}": "0x30 1x5 3x60"},
        45,
        (33, 90),
        {"container": "manager"},
    ),
    "FluxControllerOutOfMemory": (
        {
            f'kube_pod_container_status_last_terminated_reason{{{CONTAINER}, reason="OOMKilled"}}': "_x30 1x90",
            f"kube_pod_container_status_restarts_total{{{CONTAINER}}}": "0x30 1x90",
        },
        40,
        (20, 80),
        {"container": "manager"},
    ),
}


@pytest.fixture(scope="module")
def promtool() -> Path:
    settings = Settings.load()
    named = [name for name in tools_for(settings, "test") if name.startswith("promtool@")]
    return tool(ensure(settings, named), "promtool")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("monitoring")
    project = write_project(folder / "project")
    shop = tenant("shop", "shop")
    shop["namespaces"][0]["annotations"] = {"contact": "shop@example.com"}
    (project / "tenants" / "shop.yaml").touch()
    write_stack(project, tenants={"shop": shop})
    with contextlib.chdir(project):
        done = CliRunner().invoke(app, ["monitoring", "export", str(folder / "out")])
    assert done.exit_code == 0, done.output
    return folder / "out"


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_rules_and_the_configuration_are_valid(promtool: Path, exported: Path) -> None:
    (exported / "prometheus.yaml").write_text("{rule_files: [rules.yaml], scrape_config_files: [scrape.yaml]}")

    assert "SUCCESS" in run(promtool, "check", "rules", "--lint-fatal", exported / "rules.yaml")
    assert "SUCCESS" in run(promtool, "check", "config", "--syntax-only", exported / "prometheus.yaml")


def test_each_alert_is_tested(exported: Path) -> None:
    groups = yaml.safe_load((exported / "rules.yaml").read_text())["groups"]

    assert {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule} == ALERTS.keys()


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_fires_and_stops(promtool: Path, exported: Path, alert: str) -> None:
    series, fires, quiet, labels = ALERTS[alert]
    expr = f'count by ({", ".join(labels)}) (ALERTS{{alertname="{alert}", alertstate="firing"}})'
    shown = ", ".join(f'{name}="{value}"' for name, value in labels.items())

    def asked(minute: int, *samples: dict[str, Any]) -> dict[str, Any]:
        return {"expr": expr, "eval_time": f"{minute}m", "exp_samples": [*samples]}

    evaluate(promtool, exported, series, asked(fires, {"labels": f"{{{shown}}}", "value": 1}), *map(asked, quiet))


def evaluate(promtool: Path, exported: Path, series: dict[str, str], *expected: dict[str, Any]) -> None:
    """Have promtool evaluate the exported rules for samples a minute from the epoch on."""
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [*expected],
    }
    file = exported / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [test]}))

    run(promtool, "test", "rules", file)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ('ready="True", reason="ReconciliationSucceeded", revision="old"', "Queued"),
        ("", "Queued"),
        ('ready="Unknown", reason="Progressing", revision="old"', "Progressing"),
        ('ready="False", reason="BuildFailed", revision="old"', "BuildFailed"),
        ('ready="True", reason="ReconciliationSucceeded", revision="new"', None),
        ('ready="False", reason="BuildFailed", revision="old", suspended="true"', None),
    ],
)
def test_a_sync_that_waits_has_the_reason(promtool: Path, exported: Path, state: str, reason: str | None) -> None:
    series = {FETCHED: "0x10", f"gotk_resource_info{{{SYNC}, {state}}}": "1x10"}
    labels = f'{SHOP}, reason="{reason}", source_kind="GitRepository", source_name="shop"'
    name = "flux_tenancy:sync:waiting_reason"
    samples = [] if reason is None else [{"labels": f"{name}{{{labels}}}", "value": 300}]

    evaluate(promtool, exported, series, {"expr": name, "eval_time": "5m", "exp_samples": samples})


NATIVE = (
    "Service/shop/web dry-run failed (Forbidden): services 'web' is forbidden: ValidatingAdmissionPolicy "
    "'flux-tenancy-{0}' with binding 'flux-tenancy-{0}' denied request: no\\nmore"
)
KYVERNO = (
    "admission webhook denied the request: Policy flux-tenancy-{} failed: no; Policy flux-tenancy-pod-size failed: no"
)


@pytest.mark.parametrize(
    ("message", "policy"),
    [
        (NATIVE.format("service-exposure"), "service-exposure"),
        (KYVERNO.format("allowed-hosts"), "allowed-hosts"),
        # What a tenant writes must not become a label.
        (NATIVE.format("anything"), None),
        ("ValidatingAdmissionPolicy 'own-service-exposure' with binding 'x' denied request: no", None),
        ("Service/shop/web not found", None),
    ],
)
def test_a_refused_object_is_counted_for_its_tenant_and_the_policy(
    promtool: Path, exported: Path, message: str, policy: str | None
) -> None:
    failures = {f'gotk_resource_apply_failure_info{{{SHOP}, message="{message}"}}': "1x10"}
    name = "flux_tenancy:refused:count"
    labels = f'{name}{{tenant="shop", policy="{policy}"}}'
    samples = [] if policy is None else [{"labels": labels, "value": 1}]

    evaluate(promtool, exported, failures, {"expr": name, "eval_time": "5m", "exp_samples": samples})
