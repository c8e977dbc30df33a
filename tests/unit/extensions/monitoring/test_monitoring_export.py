"""What `flux-tenancy monitoring export` writes for a stack, and what the stack applies with `monitoring.operator`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from message_codes import codes
from recorded_program import Registration, run
from sample_project import tenant, write_project, write_stack
from sample_stack import CLUSTER
from typer.testing import CliRunner, Result

from flux_tenancy.command.app import app
from flux_tenancy.components.stack.cluster.findings import offline_preflight
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.components.stack.platform import register_platform

DOCS = Path(__file__).parents[4] / "docs"
DEVELOPERS = [{"kind": "Group", "name": "blog-developers"}]


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    project = write_project(tmp_path / "project")
    shop = tenant("shop", "shop")
    shop["namespaces"].append({"name": "shop-data", "annotations": {"contact": "shop@example.com"}})
    tenants = {"shop": shop, "blog": tenant("blog", "blog") | {"people": {"developers": DEVELOPERS}}}
    for name in (*tenants, "dev-team"):
        (project / "tenants" / f"{name}.yaml").touch()
    write_stack(project, tenants=tenants)
    monkeypatch.chdir(project)
    return project


def export() -> Result:
    return CliRunner().invoke(app, ["monitoring", "export", "out"])


def write_out() -> None:
    done = export()
    assert done.exit_code == 0, done.output


def exported(name: str) -> Any:
    return yaml.safe_load(Path("out", name).read_text())


def rules() -> list[dict[str, Any]]:
    return [rule for group in exported("rules.yaml")["groups"] for rule in group["rules"]]


def names(record: str) -> list[dict[str, str]]:
    return [rule["labels"] for rule in rules() if rule.get("record") == record]


def test_tenants_and_their_namespaces_are_series(project):
    write_out()

    assert names("flux_tenancy:tenant:info") == [
        {"tenant": "shop", "contact": "shop@example.com", "lane": ""},
        {"tenant": "blog", "contact": "blog-developers", "lane": ""},
    ]
    assert names("flux_tenancy:namespace:info") == [
        {"namespace": "shop", "tenant": "shop"},
        {"namespace": "shop-data", "tenant": "shop"},
        {"namespace": "blog", "tenant": "blog"},
    ]


def test_a_tenant_that_is_leaving_has_no_alerts(project):
    leaving = tenant("dev-team", "apps") | {"state": "leaving"}
    write_stack(project, tenants={"dev-team": leaving})

    write_out()

    assert names("flux_tenancy:tenant:info") == []


@pytest.mark.parametrize(("policies", "seconds"), [({}, 4500), ({"maximumTimeout": "2h"}, 8100)])
def test_a_worker_may_be_busy_for_the_longest_timeout(project, policies, seconds):
    write_stack(project, policies={"sources": {"allowed": ["ssh://git@git.example.com/*"]}} | policies)

    write_out()

    [alert] = [rule for rule in rules() if rule.get("alert") == "FluxWorkerBusyTooLong"]
    assert alert["expr"].endswith(f"> {seconds}")


def test_controllers_of_lanes_are_read_too(project):
    write_stack(project, flux={"lanes": {"tenants": {}, "batch": {}}})

    write_out()

    [job] = exported("scrape.yaml")["scrape_configs"]
    pattern = job["relabel_configs"][1]["regex"]
    assert re.fullmatch(pattern, "kustomize-controller-batch")
    assert re.fullmatch(pattern, "notification-controller")
    assert not re.fullmatch(pattern, "kustomize-controller-other")


def test_only_failures_that_may_be_refusals_have_their_message_and_revisions_are_where_the_kind_has_them(project):
    write_out()

    failures, revisions = {}, {}
    for each in exported("kube-state-metrics.yaml")["spec"]["resources"]:
        kind = each["groupVersionKind"]["kind"]
        metrics = [metric for metric in each["metrics"] if metric["name"] == "resource_apply_failure_info"]
        failures[kind] = [metric["each"]["info"]["path"][-1] for metric in metrics]
        [info] = [metric for metric in each["metrics"] if metric["name"] == "resource_info"]
        revisions[kind] = ".".join(info["labelsFromPath"]["revision"])
        assert all(metric["help"] for metric in each["metrics"])

    assert {kind: paths for kind, paths in failures.items() if paths} == {
        "Kustomization": ["[reason=ReconciliationFailed]"],
        "HelmRelease": ["[reason=InstallFailed]", "[reason=UpgradeFailed]"],
    }
    assert revisions == {
        "Kustomization": "status.lastAppliedRevision",
        "HelmRelease": "status.history.0.chartVersion",
        **dict.fromkeys(
            ("GitRepository", "OCIRepository", "HelmRepository", "Bucket", "HelmChart"), "status.artifact.revision"
        ),
    }


def test_each_runbook_is_a_heading_of_the_documentation(project):
    write_out()

    pages = {file.name: headings(file) for file in DOCS.glob("*.md")}
    links = [rule["annotations"]["runbook_url"] for rule in rules() if "alert" in rule]
    assert len(links) > 6
    for link in links:
        page, _, anchor = link.removeprefix("docs/").partition("#")
        assert anchor in pages[page], link


def headings(file: Path) -> set[str]:
    found = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in found}


def test_the_documentation_and_the_contact_of_the_platform_are_in_the_alerts(project):
    write_stack(
        project,
        tenants={"shop": tenant("shop", "shop")},
        monitoring={"documentation": "https://docs.example.com/flux/", "contact": "platform@example.com"},
    )

    write_out()

    alerts = {rule["alert"]: rule for rule in rules() if "alert" in rule}
    links = {rule["annotations"]["runbook_url"].partition("#")[0] for rule in alerts.values()}
    assert links == {f"https://docs.example.com/flux/{page}.md" for page in ("monitoring", "troubleshooting")}
    assert alerts["FluxTargetMissing"]["labels"] == {"severity": "warning", "contact": "platform@example.com"}
    [shop] = names("flux_tenancy:tenant:info")
    assert shop["contact"] == "platform@example.com"


def test_the_objective_is_that_of_the_stack(project):
    objective = {"percent": 99.5, "within": "10m", "days": 7}
    write_stack(project, tenants={"shop": tenant("shop", "shop")}, monitoring={"objective": objective})

    write_out()

    exprs = {rule.get("alert") or rule["record"]: rule["expr"] for rule in rules()}
    assert exprs["flux_tenancy:on_time"] == "flux_tenancy:waiting_seconds:max <= bool 600"
    assert exprs["flux_tenancy:budget:ratio"] == "1 - (1 - avg_over_time(flux_tenancy:on_time[7d])) / 0.005"
    # 2 % of 50.4 late minutes in one hour, and 5 % in six.
    assert "flux_tenancy:on_time:avg1h > 0.0168 and" in exprs["TenantSyncBudgetBurnsFast"]
    assert "flux_tenancy:on_time:avg6h > 0.007 and" in exprs["TenantSyncBudgetBurns"]
    assert "longer than 10m" in Path("out", "rules.yaml").read_text()


@pytest.mark.parametrize("objective", [{"percent": 100}, {"percent": 90}, {"days": 32}, {"within": "0s"}])
def test_an_objective_whose_alerts_could_not_fire_is_refused(project, objective):
    write_stack(project, tenants={"shop": tenant("shop", "shop")}, monitoring={"objective": objective})

    assert export().exit_code == 2
    assert not Path("out").exists()


def registered(project: Path, **sections: Any) -> Mapping[str, Registration]:
    """What the stack registers, by the name of the resource."""
    write_stack(project, tenants={"shop": tenant("shop", "shop")}, **sections)
    config, file = load_offline("staging", project)
    found = offline_preflight(config, "staging", file.name, project)
    return run(lambda: register_platform(config, found, {}) and None)


def test_the_operators_objects_say_the_same_and_come_after_the_controllers(project):
    write_stack(project, tenants={"shop": tenant("shop", "shop")})
    write_out()
    [job] = exported("scrape.yaml")["scrape_configs"]
    without = registered(project)

    found = registered(project, monitoring={"operator": True, "namespace": "eyes", "labels": {"release": "prometheus"}})

    assert {name: found[name] for name in without}.keys() == without.keys()
    objects = {name: each.properties for name, each in found.items() if name not in without}
    assert {(each["kind"], each["metadata"]["name"]) for each in objects.values()} == {
        ("PodMonitor", "flux-tenancy-flux"),
        ("PrometheusRule", "flux-tenancy"),
        ("ConfigMap", "flux-tenancy-kube-state-metrics"),
        ("ConfigMap", "flux-tenancy-dashboard-platform"),
        ("ConfigMap", "flux-tenancy-dashboard-tenant"),
    }
    by_name = {each["metadata"]["name"]: each for each in objects.values()}
    assert {each["metadata"]["namespace"] for each in objects.values()} == {"eyes"}
    assert by_name["flux-tenancy"]["spec"]["groups"] == exported("rules.yaml")["groups"]
    assert by_name["flux-tenancy"]["metadata"]["labels"]["release"] == "prometheus"
    state = by_name["flux-tenancy-kube-state-metrics"]["data"]["kube-state-metrics.yaml"]
    assert yaml.safe_load(state) == exported("kube-state-metrics.yaml")
    [endpoint] = by_name["flux-tenancy-flux"]["spec"]["podMetricsEndpoints"]
    assert endpoint["metricRelabelings"][0]["regex"] == job["metric_relabel_configs"][0]["regex"]
    dashboard = by_name["flux-tenancy-dashboard-tenant"]
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(dashboard["data"]["dashboard-tenant.json"])["uid"] == "flux-tenancy-tenant"
    for name in objects:
        assert any("kustomize-controller" in each for each in found[name].after), name


def test_previewers_may_read_the_operators_objects_where_the_stack_has_them(project):
    reviewers = {"cluster": CLUSTER | {"previewers": [{"kind": "Group", "name": "reviewers"}]}}
    without = registered(project, **reviewers)

    found = registered(project, monitoring={"operator": True}, **reviewers)

    assert "ClusterRole flux-tenancy-previewer-monitoring" not in without
    [rule] = found["ClusterRole flux-tenancy-previewer-monitoring"].properties["rules"]
    assert (rule["resources"], rule["verbs"]) == (["podmonitors", "prometheusrules"], ["get", "list"])


def test_alerts_are_not_in_the_namespace_of_a_tenant(project):
    for section, refused in (({"operator": True}, True), ({"operator": False}, False)):
        write_stack(project, tenants={"shop": tenant("shop", "shop")}, monitoring=section | {"namespace": "shop"})

        done = export()

        assert (codes(done.output.splitlines()[:1]) == ["FT-CFG-679"]) if refused else done.exit_code == 0


def test_a_file_in_the_place_of_the_folder_is_refused(project):
    Path("out").touch()

    assert codes(export().output.splitlines()[:1]) == ["FT-REV-205"]


def test_panels_do_not_overlap_and_none_is_wider_than_the_dashboard(project):
    write_out()

    for name in ("platform", "tenant"):
        taken: set[tuple[int, int]] = set()
        for panel in exported(f"dashboard-{name}.json")["panels"]:
            place = panel["gridPos"]
            assert place["x"] + place["w"] <= 24, panel["title"]
            cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
            assert not cells & taken, panel["title"]
            taken |= cells
