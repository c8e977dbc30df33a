"""`flux-tenancy tenant list`: what it reads, what it says of stacks that do not answer, and its three formats."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import invoke, refusal, told
from fake_cluster import FakeCluster, served
from loopback import serving
from rich.console import Console
from sample_tenants import QUOTAS, RELEASES, REVISION, SOURCES, SYNCS, flux_object, quota, sources_and_syncs
from tenants_project import TenantsProject, tenants_project

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.yaml_files import read_mapping
from flux_tenancy.components.stack.files import stack_file
from flux_tenancy.components.tenant.annotations import EXCEPTIONS, FREEZES
from flux_tenancy.components.vocabulary.names import LANE_LABEL, TENANT_LABEL
from flux_tenancy.operations.tenants import overview
from flux_tenancy.operations.tenants import overview as tenant_list
from flux_tenancy.operations.tenants.overview import (
    Health,
    Observed,
    QuotaUse,
    StackOverview,
    TenantLine,
    as_table,
    fullest,
    quota_text,
    short_revision,
    tenant_line,
)
from flux_tenancy.project.errors import OperationError


@pytest.fixture
def project(tmp_path, monkeypatch) -> TenantsProject:
    project = tenants_project(tmp_path, monkeypatch)
    monkeypatch.setattr(tenant_list, "count_violations", lambda *_, **__: Counter({"dev-team": 2}))
    (tmp_path / "Pulumi.production.yaml").write_text(
        project.read("Pulumi.production.yaml").replace("kubeconfig: kubeconfig", "kubeconfig: elsewhere")
    )
    return project


@pytest.fixture
def cluster(project) -> Iterator[FakeCluster]:
    cluster = FakeCluster()
    cluster.objects = {
        **sources_and_syncs("no such \x1b[31mbranch\n<b>now</b>"),
        QUOTAS: [quota("apps", "dev-team", {"pods": "10", "secrets": "0", "cpu": "1"}, {"pods": "4", "cpu": "500m"})],
    }
    with served(cluster, project.folder):
        yield cluster


def run(*arguments: str) -> tuple[int, str]:
    ran = invoke("tenant", "list", *arguments)
    assert ran.error == ""
    return ran.code, ran.out


def staging() -> dict[str, Any]:
    """What programs get of the stack `staging`."""
    [stack] = json.loads(run("-s", "staging", "-o", "json")[1])["stacks"]
    return dict(stack)


def states() -> dict[str, str]:
    return {each["tenant"]: each["state"] for each in staging()["tenants"]}


def test_each_tenant_of_each_stack_has_an_entry_for_programs(project, cluster):
    code, out = run("--output", "json")

    production, staging = json.loads(out)["stacks"]
    assert code == 0
    assert (production["stack"], production["tenants"]) == ("production", [])
    assert production["error"].startswith("Pulumi.production.yaml: cluster.kubeconfig: ")
    assert staging == {
        "stack": "staging",
        "error": "",
        "violationsError": "",
        "tenants": [
            {
                "tenant": "dev-team",
                "state": "ready",
                "lane": "",
                "revision": REVISION,
                "changed": "2026-11-20T08:00:00Z",
                "budget": None,
                "quota": {"namespace": "apps", "resource": "cpu", "used": "500m", "hard": "1", "percent": 50},
                "violations": 2,
                "message": "",
            },
            {
                "tenant": "ops-team",
                "state": "failed",
                "lane": "",
                "revision": REVISION,
                "changed": "2026-11-20T08:00:00Z",
                "budget": None,
                "quota": None,
                "violations": 0,
                "message": "no such [31mbranch <b>now</b>",
            },
        ],
    }


def test_a_stack_file_is_read_as_often_for_many_tenants_as_for_few(project, cluster, monkeypatch):
    reads: Counter[str] = Counter()

    def counted(file: Path, name: str, as_pulumi: bool) -> object:
        reads[name] += 1
        return read_mapping(file, name, as_pulumi)

    monkeypatch.setattr(stack_file, "read_mapping", counted)
    run()
    few = reads.copy()
    path = project.folder / "Pulumi.staging.yaml"
    content = yaml.safe_load(path.read_text())
    content["config"]["flux-tenancy:tenants"] |= {f"team-{number}": {} for number in range(5)}
    path.write_text(yaml.safe_dump(content))
    reads.clear()
    _, out = run()

    assert "team-4" in out
    assert reads == few


@pytest.mark.parametrize(("width", "is_wide"), [(100, False), (160, True)])
def test_times_and_revisions_are_whole_and_messages_follow_a_narrow_table(width, is_wide):
    message = f"kustomize build failed: {'a very long reason ' * 5}".strip()
    line = TenantLine(
        "payments",
        Health.FAILED,
        REVISION,
        "2026-11-20T08:00:00Z",
        QuotaUse("apps", "count/a.b", "1", "2", 50),
        1,
        message,
        budget=-1.25,
    )
    out = io.StringIO()

    overviews = [StackOverview("production", (line,)), StackOverview("staging", error="no cluster")]
    Console(file=out, width=width).print(as_table(overviews, width))

    text = out.getvalue()
    assert "2026-11-20T08:00:00Z" in text and short_revision(REVISION) in text
    assert max(map(len, text.splitlines())) <= width
    assert "budget" in text and "-125 %" in text
    assert ("production payments: kustomize build failed" in text) is ("staging: no cluster" in text) is not is_wide


def test_a_stack_that_does_not_answer_is_a_row(project, cluster):
    code, out = run()

    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert code == 0
    assert [line[:3] for line in lines if line[0] in ("staging", "production")] == [
        ["production", "unknown", "Pulumi.production.yaml:"],
        ["staging", "dev-team", "ready"],
        ["staging", "ops-team", "failed"],
    ]
    assert "50 % of cpu in apps" in out and "\x1b" not in out


@pytest.mark.parametrize(("changes", "code"), [({}, 1), ({"tenants": "dev-team"}, 0)])
def test_a_failure_is_an_exit_status_on_request(project, cluster, changes, code):
    if changes:
        cluster.objects[SOURCES][1] = flux_object("GitRepository", "tools", "ops-team", "True")
        cluster.objects[SYNCS][1] = flux_object("Kustomization", "tools", "ops-team", "True")

    assert run("--stack", "staging", "--exit-code")[0] == code


def test_a_tenant_may_be_suspended_reconciling_leaving_or_absent(project, cluster):
    cluster.objects[SYNCS] = [flux_object("Kustomization", "apps", "dev-team", "False", suspend=True)]
    assert states() == {"dev-team": "suspended", "ops-team": "absent"}

    cluster.objects[SYNCS] = [flux_object("Kustomization", "apps", "dev-team", "Unknown")]
    project.told("offboard", "ops-team", "--stack", "staging", "--no-backup", "--no-preview")
    assert states() == {"dev-team": "reconciling", "ops-team": "leaving"}


def test_a_tenant_fails_with_each_of_its_sources_syncs_and_releases(project, cluster):
    """A further sync that waits does not hide what it waits for."""
    cluster.objects[SYNCS].append(flux_object("Kustomization", "apps", "dev-team-late", "Unknown", "waits"))
    cluster.objects[RELEASES] = [flux_object("HelmRelease", "apps", "dev-team-podinfo", "False", "no such chart")]

    dev_team = staging()["tenants"][0]
    assert (dev_team["state"], dev_team["message"]) == ("failed", "HelmRelease dev-team-podinfo: no such chart")


def test_unknown_violations_do_not_hide_the_tenants(project, cluster, monkeypatch):
    def refuse(*_: object, **__: object) -> Counter[str]:
        raise OperationError(Message("", "the cluster lacks policies", "run `pulumi up`"))

    monkeypatch.setattr(tenant_list, "count_violations", refuse)

    stack = staging()
    assert stack["violationsError"] == "the cluster lacks policies"
    assert [each["violations"] for each in stack["tenants"]] == [None, None]
    assert "staging: what policies would refuse is unknown: the cluster lacks policies" in run("--stack", "staging")[1]


def test_violations_are_counted_only_where_they_are_wanted(project, cluster, monkeypatch):
    monkeypatch.setattr(tenant_list, "count_violations", None)

    [stack] = json.loads(run("--stack", "staging", "--no-policies", "--output", "json")[1])["stacks"]

    assert [each["violations"] for each in stack["tenants"]] == [None, None]


def test_a_tenant_whose_base_file_is_missing_is_a_row(project, cluster):
    (project.folder / "tenants/ops-team.yaml").unlink()

    ops_team = staging()["tenants"][1]
    assert ops_team["state"] == "failed" and "tenants/ops-team.yaml" in ops_team["message"]


def prometheus(**shares: str) -> dict[str, bytes]:
    """The answer of a Prometheus to any query, by path: a share for each tenant."""
    result = [{"metric": {"tenant": name}, "value": [0, share]} for name, share in shares.items()]
    return {"/api/v1/query": json.dumps({"status": "success", "data": {"result": result}}).encode()}


def test_budgets_are_shown_if_prometheus_is_named(project, cluster):
    asked: list[str] = []
    with serving(prometheus(**{"dev-team": "0.29", "other": "1", "ops-team": "NaN"}), asked=asked) as url:
        _, out = run("-s", "staging", "--prometheus", f"{url}/", "-o", "json")
        _, table = run("-s", "staging", "--prometheus", url)
    _, without = run("-s", "staging")

    [stack] = json.loads(out)["stacks"]
    assert {each["tenant"]: each["budget"] for each in stack["tenants"]} == {"dev-team": 0.29, "ops-team": None}
    assert set(asked) == {"/api/v1/query?query=flux_tenancy%3Abudget%3Aratio"}
    assert "budget" in table and " 29 % " in table and "budget" not in without


TWICE = json.dumps({"data": {"result": [{"metric": {"tenant": "a"}, "value": [0, "1"]}] * 2}}).encode()


@pytest.mark.parametrize(
    ("answers", "status", "said"),
    [
        ({}, 200, "does not answer as Prometheus does"),
        ({"/api/v1/query": b"<html>"}, 200, "does not answer as Prometheus does"),
        ({"/api/v1/query": b"[]"}, 200, "does not answer as Prometheus does"),
        (prometheus(a="much"), 200, "does not answer as Prometheus does"),
        (prometheus(), 200, "has no series flux_tenancy:budget:ratio"),
        ({"/api/v1/query": TWICE}, 200, "has several budgets of one tenant"),
        ({}, 401, "answers with status 401"),
    ],
)
def test_an_answer_without_budgets_is_one_error(project, cluster, answers, status, said):
    with serving(answers, status=status) as url:
        error = refusal(invoke("tenant", "list", "-s", "staging", "--prometheus", url))

    assert "(FT-OPS-381)" in error and said in error


@pytest.mark.parametrize("url", ["http://user:hidden@127.0.0.1:1", "127.0.0.1:9090", "http://[", "prometheus"])
def test_a_prometheus_that_does_not_answer_is_one_error_without_its_password(project, cluster, url):
    error = refusal(invoke("tenant", "list", "-s", "staging", "--prometheus", url))

    assert "(FT-OPS-381)" in error and "does not answer" in error and "hidden" not in error


def test_one_prometheus_knows_one_stack(project, cluster):
    for command in (["list"], ["page", "out.html"]):
        assert "(FT-OPS-380)" in refusal(invoke("tenant", *command, "--prometheus", "http://127.0.0.1:1"))


def test_lanes_are_shown_if_a_tenant_has_one(cluster):
    assert "lane" not in run("-s", "staging")[1]
    cluster.objects[SYNCS][0]["metadata"]["labels"][LANE_LABEL] = "batch"

    shown = run("-s", "staging")[1].splitlines()

    lines = {line.split()[1]: line.split()[3] for line in shown if line.split()[:1] in (["stack"], ["staging"])}
    assert lines == {"tenant": "lane", "dev-team": "batch", "ops-team": "–"}
    assert " batch" in told(invoke("tenant", "show", "dev-team", "-s", "staging"))


def test_the_fullest_quota_is_the_one_that_is_closest_to_its_limit():
    quotas = [
        quota("a", "t", {"pods": "10", "requests.memory": "1Gi"}, {"pods": "9", "requests.memory": "1000Mi"}),
        quota("b", "t", {"services.nodeports": "0"}, {"services.nodeports": "0"}),
    ]

    assert fullest(quotas) == QuotaUse("a", "requests.memory", "1000Mi", "1Gi", 97)
    assert fullest(quotas[1:]) is None


@pytest.mark.parametrize(
    ("resource", "shown"),
    [
        ("count/kustomizations.kustomize.toolkit.fluxcd.io", "50 % of kustomizations in apps"),
        ("count/secrets", "50 % of secrets in apps"),
        ("requests.cpu", "50 % of requests.cpu in apps"),
    ],
)
def test_a_quota_is_shown_without_the_api_group_of_what_it_counts(resource, shown):
    assert quota_text(QuotaUse("apps", resource, "1", "2", 50)) == shown


@pytest.mark.parametrize(
    ("revision", "shown"),
    [
        ("main@sha1:fa4317e0939f960aa031d56f8b9319655323685d", "main@sha1:fa4317e…"),
        ("1.0.0@sha256:" + "0a" * 32, "1.0.0@sha256:0a0a0a0…"),
        ("6.5.1", "6.5.1"),
        ("", "–"),
    ],
)
def test_a_revision_is_shown_with_the_first_digits_of_its_digest(revision, shown):
    assert short_revision(revision) == shown


def test_the_first_release_stands_for_a_tenant_without_syncs():
    release = flux_object("HelmRelease", "apps", "podinfo", "False", "no version of the chart matches")
    release["status"] |= {"lastAppliedRevision": None, "history": [{"chartVersion": "6.5.1", "lastDeployed": "2026"}]}
    found = Observed({"dev-team": [release]}, {}, None)

    line = tenant_line("dev-team", is_leaving=False, found=found, syncs=False)

    assert (line.health, line.revision, line.changed) == (Health.FAILED, "6.5.1", "2026")
    assert "no version of the chart matches" in line.message
    assert tenant_line("dev-team", is_leaving=False, found=found).health is Health.ABSENT


def test_the_last_change_is_of_what_runs_and_not_of_what_failed():
    sync = flux_object("Kustomization", "apps", "dev-team", "False", "build failed")
    failed, applied = "2026-11-25T09:00:00Z", "2026-11-20T08:00:00Z"
    sync["status"]["history"] = [
        {"firstReconciled": failed, "lastReconciledStatus": "BuildFailed"},
        {"firstReconciled": applied, "lastReconciledStatus": "ReconciliationSucceeded"},
    ]
    observed = Observed({"dev-team": [sync | {"kind": "Kustomization"}]}, {}, None)

    assert tenant_line("dev-team", is_leaving=False, found=observed).changed == applied
    del sync["status"]["history"][1]
    assert tenant_line("dev-team", is_leaving=False, found=observed).changed == failed


FREEZE = "2026-11-01T00:00:00Z 2026-12-27T06:00:00Z a sale"
REFUSED = "note dry-run failed: ValidatingAdmissionPolicy 'flux-tenancy-freeze' denied request"


@pytest.mark.parametrize(
    ("annotations", "ready", "said", "expected"),
    [
        ({}, "True", "", ("ready", "")),
        ({FREEZES: FREEZE}, "True", "", ("frozen", "until 2026-12-27T06:00:00Z: a sale")),
        ({FREEZES: FREEZE}, "False", REFUSED, ("frozen", "until 2026-12-27T06:00:00Z: a sale; a change waits")),
        # A freeze does not hide a failure, and is over at its end.
        ({FREEZES: FREEZE}, "False", "build failed", ("failed", "build failed")),
        ({FREEZES: FREEZE.replace("-12-27", "-11-27")}, "True", "", ("ready", "")),
        ({FREEZES: FREEZE, EXCEPTIONS: "freeze"}, "True", "", ("ready", "")),
    ],
)
def test_a_tenant_in_a_freeze_is_frozen_and_has_not_failed(
    project, cluster, monkeypatch, annotations, ready, said, expected
):
    monkeypatch.setattr(overview, "now", lambda: datetime(2026, 11, 28, tzinfo=UTC))
    cluster.objects[SYNCS] = [flux_object("Kustomization", "apps", "dev-team", ready, said)]
    labels = {TENANT_LABEL: "dev-team"}
    metadata = {"name": "apps", "labels": labels, "annotations": annotations}
    cluster.objects["/api/v1/namespaces"] = [{"metadata": metadata}]

    dev_team = staging()["tenants"][0]
    assert (dev_team["state"], dev_team["message"]) == expected
