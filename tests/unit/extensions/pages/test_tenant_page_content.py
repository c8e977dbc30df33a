"""`flux-tenancy tenant page`: what it reads, and that text of tenants can neither run nor hide."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fake_cluster import FakeCluster, served
from loopback import serving
from sample_tenants import QUOTAS, REVISION, SOURCES, SYNCS, flux_object, quota
from tenants_project import TenantsProject, tenants_project
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.extensions.pages import content
from flux_tenancy.operations.admission.findings import Place, Violation
from flux_tenancy.project.errors import OperationError

HOSTILE = "</script><script>alert(1)</script><!-- \x1b[31m\u202egnp.exe\u202c"
NODE_PORT = Violation(
    Place("dev-team", "apps", "Service", "web"),
    PolicyName.SERVICE_EXPOSURE,
    "spec.type NodePort is not allowed",
    PolicyMode.ENFORCE,
    (PolicyEngine.NATIVE,),
)


class Scripts(HTMLParser):
    """The content of each script and style, by what they are, and all attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.kind = ""
        self.found: dict[str, str] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        self.kind = f"{tag} {dict(attrs).get('type', '')}".strip()

    def handle_endtag(self, tag: str) -> None:
        self.kind = ""

    def handle_data(self, data: str) -> None:
        if self.kind.startswith(("script", "style")) and data.strip():
            assert self.kind not in self.found
            self.found[self.kind] = data


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TenantsProject:
    monkeypatch.setattr(content, "refused_objects", lambda *_: [NODE_PORT])
    project = tenants_project(tmp_path, monkeypatch)
    production = tmp_path / "Pulumi.production.yaml"
    production.write_text(production.read_text().replace("kubeconfig: kubeconfig", "kubeconfig: elsewhere"))
    base = tmp_path / "tenants/dev-team.yaml"
    base.write_text(base.read_text() + "people:\n  developers: [{kind: Group, name: shop-devs}]\n")
    return project


@pytest.fixture
def cluster(project: TenantsProject) -> Iterator[FakeCluster]:
    cluster = FakeCluster()
    source = flux_object("GitRepository", "apps", "dev-team", "True")
    source["status"]["artifact"] = {"revision": REVISION, "lastUpdateTime": "2026-11-20T07:59:00Z"}
    cluster.objects = {
        SOURCES: [source, flux_object("GitRepository", "tools", "ops-team", "False", HOSTILE)],
        SYNCS: [
            flux_object("Kustomization", "apps", "dev-team", "True"),
            flux_object("Kustomization", "tools", "ops-team", "False", "Source is not ready"),
        ],
        QUOTAS: [quota("apps", "dev-team", {"pods": "10"}, {"pods": "4"})],
    }
    with served(cluster, project.folder):
        yield cluster


def written(project: TenantsProject, *arguments: str) -> tuple[dict[str, Any], Scripts]:
    """The data and the parts of the page."""
    assert project.told("page", "tenants.html", *arguments) == ""
    page = Scripts(project.read("tenants.html"))
    return json.loads(page.found["script application/json"]), page


def test_each_tenant_has_its_way_its_quotas_its_refusals_and_its_people(project, cluster):
    data, _ = written(project)

    production, staging = data["stacks"]
    assert production["error"].startswith("Pulumi.production.yaml: cluster.kubeconfig: ")
    dev_team, ops_team = staging["tenants"]
    [source], [sync] = dev_team["sources"], dev_team["syncs"]
    assert (source["revision"], source["since"], sync["revision"]) == (REVISION, "2026-11-20T07:59:00Z", REVISION)
    assert dev_team["quotas"][0]["percent"] == 40
    assert dev_team["people"] == [{"role": "developer", "kind": "Group", "name": "shop-devs"}]
    assert (dev_team["violations"], dev_team["refused"][0]["place"]["name"]) == (1, "web")
    assert (ops_team["state"], ops_team["violations"], ops_team["refused"]) == ("failed", 0, [])
    assert "correct what the message of GitRepository ops-team says" in ops_team["next"][0]


def test_policies_are_asked_only_if_wanted_and_their_failure_hides_nothing(project, cluster, monkeypatch):
    def lacking(*_: object) -> list[Violation]:
        raise OperationError(Message("", "the cluster lacks policies", "run `pulumi up`"))

    for refused, options, reason in ((None, ["--no-policies"], ""), (lacking, [], "the cluster lacks policies")):
        monkeypatch.setattr(content, "refused_objects", refused)
        [stack] = written(project, "-s", "staging", *options)[0]["stacks"]

        assert stack["violationsError"] == reason
        assert [each["violations"] for each in stack["tenants"]] == [None, None]


def test_budgets_are_those_of_prometheus(project, cluster):
    answer = {"data": {"result": [{"metric": {"tenant": "dev-team"}, "value": [0, "0.5"]}]}}
    with serving({"/api/v1/query": json.dumps(answer).encode()}) as url:
        data, _ = written(project, "-s", "staging", "--prometheus", url)

    assert [each["budget"] for each in data["stacks"][0]["tenants"]] == [0.5, None]


def test_text_of_a_tenant_is_data_without_control_characters(project, cluster):
    data, page = written(project, "-s", "staging")

    message = data["stacks"][0]["tenants"][1]["message"]
    assert message == "</script><script>alert(1)</script><!-- [31m gnp.exe"
    assert sorted(page.found) == ["script", "script application/json", "style"]
    assert "<" not in page.found["script application/json"]


def test_the_page_loads_nothing_and_allows_only_its_own_script_and_style(project, cluster):
    _, page = written(project, "-s", "staging")

    [policy] = [value for name, value in page.attributes if name == "content" and value and "default-src" in value]
    digests = [b64encode(sha256(page.found[each].encode()).digest()).decode() for each in ("style", "script")]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; base-uri 'none'"
    )
    assert not {"src", "style", "onclick", "onload"} & {name for name, _ in page.attributes}
    assert all((value or "").startswith("#/") for name, value in page.attributes if name == "href")
    own = page.found["script"] + page.found["style"]
    assert not re.search(r"(inner|outer)HTML|insertAdjacentHTML|eval\(|url\(|https?:", own)


REPORT = {"format": "flux-tenancy/isolation/v1", "reports": [], "notAsked": []}


def test_a_report_of_the_isolation_suite_gets_the_names_of_its_threats(project, cluster):
    (project.folder / "isolation.json").write_text(json.dumps(REPORT))

    data, _ = written(project, "-s", "staging", "--isolation", "isolation.json")

    assert data["isolation"]["threats"]["26"] == "Pushing with the deploy key"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "isolation.json cannot be read: No such file or directory"),
        ("{", "is not a report of the isolation suite"),
        ("[]", "is not a report of the isolation suite"),
        ('{"format": "v2\\u001b[31m"}', "has the format v2 [31m, not flux-tenancy/isolation/v1"),
    ],
)
def test_another_file_is_refused_with_what_to_run(project, text, says):
    if text is not None:
        (project.folder / "isolation.json").write_text(text)

    said = project.refused("page", "tenants.html", "-s", "staging", "--isolation", "isolation.json")

    assert says in said and "flux-tenancy isolation -o json -f isolation.json" in said and "FT-PAG-001" in said
    assert not (project.folder / "tenants.html").exists()


def test_a_report_about_a_cluster_without_a_stack_needs_no_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "isolation.json").write_text(json.dumps(REPORT))

    done = CliRunner().invoke(app, ["tenant", "page", "tenants.html", "--isolation", "isolation.json"])
    without = CliRunner().invoke(app, ["tenant", "page", "tenants.html"])

    assert done.exit_code == 0, done.output
    data = json.loads(Scripts((tmp_path / "tenants.html").read_text()).found["script application/json"])
    assert data["stacks"] == [] and data["isolation"]["reports"] == []
    assert (without.exit_code, "FT-CMD-001" in without.stderr) == (2, True)


def test_a_report_about_one_cluster_is_shown_for_one_stack(project):
    """It names no stack, and stacks may have tenants of the same name."""
    said = project.refused("page", "tenants.html", "--isolation", "isolation.json")

    assert "isolation.json is about one cluster, and the page about production and staging" in said
    assert "FT-OPS-380" in said


def test_a_file_that_cannot_be_written_is_named(project, cluster):
    assert "no/tenants.html cannot be written" in project.refused("page", "no/tenants.html", "-s", "staging")
