"""What `flux-tenancy monitoring export` writes for a stack."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from message_codes import codes
from sample_project import tenant, write_project, write_stack
from typer.testing import CliRunner, Result

from flux_tenancy.command.app import app

DOCS = Path(__file__).parents[4] / "docs"
DEVELOPERS = [{"kind": "Group", "name": "blog-developers"}]


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    project = write_project(tmp_path / "project")
    shop = tenant("shop", "shop")
    shop["namespaces"][0]["annotations"] = {"contact": "shop@example.com"}
    tenants = {"shop": shop, "blog": tenant("blog", "blog") | {"people": {"developers": DEVELOPERS}}}
    for name in (*tenants, "dev-team"):
        (project / "tenants" / f"{name}.yaml").touch()
    write_stack(project, tenants=tenants)
    monkeypatch.chdir(project)
    return project


def export(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["monitoring", "export", "out", *arguments])


def exported(name: str) -> Any:
    return yaml.safe_load(Path("out", name).read_text())


def rules() -> list[dict[str, Any]]:
    return [rule for group in exported("rules.yaml")["groups"] for rule in group["rules"]]


def names(record: str) -> list[dict[str, str]]:
    return [rule["labels"] for rule in rules() if rule.get("record") == record]


def test_tenants_and_their_namespaces_are_series(project):
    assert export().exit_code == 0

    assert names("flux_tenancy:tenant:info") == [
        {"tenant": "shop", "contact": "shop@example.com", "lane": ""},
        {"tenant": "blog", "contact": "blog-developers", "lane": ""},
    ]
    assert names("flux_tenancy:namespace:info") == [
        {"namespace": "shop", "tenant": "shop"},
        {"namespace": "blog", "tenant": "blog"},
    ]


def test_a_tenant_that_is_leaving_has_no_alerts(project):
    leaving = tenant("dev-team", "apps") | {"state": "leaving"}
    write_stack(project, tenants={"dev-team": leaving})

    assert export().exit_code == 0, export().output

    assert names("flux_tenancy:tenant:info") == []


@pytest.mark.parametrize(
    ("flux", "policies", "seconds"),
    [({}, {}, 4500), ({}, {"maximumTimeout": "2h"}, 8100)],
)
def test_a_worker_may_be_busy_for_the_longest_timeout(project, flux, policies, seconds):
    write_stack(project, flux=flux, policies={"sources": {"allowed": ["ssh://git@git.example.com/*"]}} | policies)

    assert export().exit_code == 0, export().output

    [alert] = [rule for rule in rules() if rule.get("alert") == "FluxWorkerBusyTooLong"]
    assert alert["expr"].endswith(f"> {seconds}")


def test_controllers_of_lanes_are_read_too(project):
    write_stack(project, flux={"lanes": {"tenants": {}, "batch": {}}})

    assert export().exit_code == 0, export().output

    [job] = exported("scrape.yaml")["scrape_configs"]
    pattern = job["relabel_configs"][1]["regex"]
    assert re.fullmatch(pattern, "kustomize-controller-batch")
    assert re.fullmatch(pattern, "notification-controller")
    assert not re.fullmatch(pattern, "kustomize-controller-other")


def test_each_runbook_is_a_heading_of_the_documentation(project):
    assert export().exit_code == 0, export().output

    pages = {file.name: headings(file) for file in DOCS.glob("*.md")}
    links = [rule["annotations"]["runbook_url"] for rule in rules() if "alert" in rule]
    assert len(links) > 6
    for link in links:
        page, _, anchor = link.removeprefix("docs/").partition("#")
        assert anchor in pages[page], link


def headings(file: Path) -> set[str]:
    found = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in found}


def test_the_documentation_can_be_elsewhere(project):
    export("--documentation", "https://docs.example.com/flux/")

    links = {rule["annotations"]["runbook_url"].partition("#")[0] for rule in rules() if "alert" in rule}
    assert links == {f"https://docs.example.com/flux/{page}.md" for page in ("monitoring", "troubleshooting")}


def test_the_operators_objects_say_the_same(project):
    assert export().exit_code == 0
    groups, [job] = exported("rules.yaml")["groups"], exported("scrape.yaml")["scrape_configs"]
    state = exported("kube-state-metrics.yaml")

    done = export("--format", "operator", "--namespace", "eyes", "--label", "release=prometheus")

    assert done.exit_code == 0
    listed = exported("kustomization.yaml")["resources"]
    objects = {name: exported(name) for name in listed}
    assert {(each["kind"], each["metadata"]["namespace"]) for each in objects.values()} == {
        ("PodMonitor", "eyes"),
        ("PrometheusRule", "eyes"),
        ("ConfigMap", "eyes"),
    }
    assert objects["rules.yaml"]["spec"]["groups"] == groups
    assert objects["rules.yaml"]["metadata"]["labels"]["release"] == "prometheus"
    assert yaml.safe_load(objects["kube-state-metrics.yaml"]["data"]["config.yaml"]) == state
    [endpoint] = objects["flux.yaml"]["spec"]["podMetricsEndpoints"]
    assert endpoint["metricRelabelings"][0]["regex"] == job["metric_relabel_configs"][0]["regex"]
    assert objects["dashboard-tenant.yaml"]["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(objects["dashboard-tenant.yaml"]["data"]["tenant.json"])["uid"] == "flux-tenancy-tenant"


def test_a_label_without_a_value_is_refused(project):
    done = export("--format", "operator", "--label", "release")

    assert done.exit_code == 2
    assert not Path("out").exists()


def test_without_grafanas_sdk_everything_else_is_written(project, monkeypatch):
    monkeypatch.setitem(sys.modules, "grafana_foundation_sdk.cog.encoder", None)

    assert codes(export().output.splitlines()[:1]) == ["FT-MON-001"]
    assert not Path("out").exists()
    assert export("--no-dashboards").exit_code == 0
    assert sorted(file.name for file in Path("out").iterdir()) == [
        "kube-state-metrics.yaml",
        "rules.yaml",
        "scrape.yaml",
    ]


def test_a_file_in_the_place_of_the_folder_is_refused(project):
    Path("out").touch()

    assert codes(export().output.splitlines()[:1]) == ["FT-REV-205"]


def test_panels_do_not_overlap_and_none_is_wider_than_the_dashboard(project):
    assert export().exit_code == 0, export().output

    for name in ("platform", "tenant"):
        taken: set[tuple[int, int]] = set()
        for panel in exported(f"dashboard-{name}.json")["panels"]:
            place = panel["gridPos"]
            assert place["x"] + place["w"] <= 24, panel["title"]
            cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
            assert not cells & taken, panel["title"]
            taken |= cells
