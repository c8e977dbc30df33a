"""The program refuses a wrong cluster, and secrets in plain text, before the first resource, with the real engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from flux_tenancy.components.keys.ssh_keys import generate
from tests.support.api_server import ApiServer, api_server
from tests.support.lab import Lab, RunningCluster
from tests.support.project import Outcome, Project

NAME = "safety"
PLAIN, PROJECT = "plain", "platform"
KEY = generate().private
EXPOSED = "tenants.dev-team.source.deployKey: "


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[RunningCluster]:
    with lab.cluster(NAME) as running:
        yield running


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Another cluster, to which nothing is applied."""
    with api_server(tmp_path_factory.mktemp("elsewhere")) as running:
        yield running


@pytest.fixture
def stack(lab: Lab, cluster: RunningCluster) -> dict[str, Any]:
    """Sections of a stack without tenants, which each test bends."""
    return {
        "cluster": {"kubeconfig": str(cluster.kubeconfig), "context": NAME},
        "flux": lab.bundle(),
    }


def refusal(project: Project, sections: dict[str, Any]) -> str:
    """What `pulumi up` prints when it refuses; nothing is applied, and there is no traceback."""
    project.stack(NAME, **sections)
    before = applied(project)
    outcome = project.up(NAME)
    assert not outcome.succeeded
    assert "Traceback" not in outcome.text
    assert applied(project) == before
    return outcome.text


def applied(project: Project) -> list[str]:
    """The resources in the state, without the stack itself and the engine's own provider."""
    return [entry for entry in project.resources(NAME) if entry != "pulumi default" and not entry.startswith("Stack ")]


def test_all_problems_come_at_once_and_nothing_is_applied(
    project: Project, cluster: RunningCluster, stack: dict[str, Any]
) -> None:
    project.tenant(
        "dev-team", {"namespaces": [{"name": "kube-apps"}], "source": {"url": "https://git.example.com/a/b"}}
    )
    stack["cluster"]["contxt"] = NAME
    stack["flux"]["profile"] = "lenient"
    stack["tenants"] = {"dev-team": {"sync": {"interval": "5 minutes"}}, "ghost": {}}
    # Of another test, where that has run before.
    before = cluster.find("namespace", "flux-system")

    text = refusal(project, stack)

    assert "5 errors; nothing was applied:" in text
    for place, code in (
        ("Pulumi.safety.yaml: cluster.contxt", "FT-CFG-602"),
        ("Pulumi.safety.yaml: flux.profile", "FT-CFG-606"),
        ("Pulumi.safety.yaml: tenants.dev-team.sync.interval", "FT-CFG-006"),
        ("tenants/dev-team.yaml: namespaces[0].name", "FT-CFG-001"),
        ("tenants/ghost.yaml", "FT-CFG-629"),
    ):
        assert re.search(rf"^ *{re.escape(place)}: .* \({code}\)", text, re.MULTILINE), place
    assert cluster.find("namespace", "flux-system") == before


def test_a_wrong_digest_and_an_unreachable_cluster_come_together(project: Project, stack: dict[str, Any]) -> None:
    stack["flux"]["sha256"] = "0" * 64
    kubeconfig = yaml.safe_load(Path(stack["cluster"]["kubeconfig"]).read_text())
    kubeconfig["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (project.folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    stack["cluster"]["kubeconfig"] = "kubeconfig"

    text = refusal(project, stack)

    assert re.search(r"Pulumi\.safety\.yaml: flux\.sha256: .* \(FT-CFG-030\)", text)
    assert "https://127.0.0.1:1 " in text and "(FT-CLU-013)" in text


def test_an_unexpected_cluster_is_refused(project: Project, stack: dict[str, Any]) -> None:
    stack["cluster"]["uid"] = "00000000-0000-0000-0000-000000000000"
    text = refusal(project, stack)

    assert "00000000-0000-0000-0000-000000000000" in text and "(FT-CLU-102)" in text


def test_a_foreign_namespace_is_refused(project: Project, cluster: RunningCluster, stack: dict[str, Any]) -> None:
    cluster.kubectl("create", "namespace", "taken")
    project.tenant("dev-team", {"namespaces": [{"name": "taken"}], "source": {"url": "https://git.example.com/a/b"}})
    stack["tenants"] = {"dev-team": {}}
    try:
        text = refusal(project, stack)
        assert "'taken'" in text and "(FT-CLU-107)" in text
    finally:
        cluster.kubectl("delete", "namespace", "taken")


@pytest.mark.scenario
class TestAppliedStack:
    """A stack that has been applied once, to its cluster."""

    def test_the_cluster_is_recorded_and_another_one_refused(
        self, project: Project, elsewhere: ApiServer, stack: dict[str, Any]
    ) -> None:
        project.stack(NAME, **stack)
        plan = str(project.folder / "plan.json")
        assert project.run("preview", "--save-plan", plan, "--stack", NAME).succeeded
        # What the program makes up is not in the plan of a fresh stack, and does not stop the update that follows it.
        outcome = project.run("up", "--yes", "--skip-preview", "--plan", plan, "--stack", NAME)
        assert outcome.succeeded, outcome.text
        other = stack | {"cluster": {"kubeconfig": str(elsewhere.kubeconfig)}}

        text = refusal(project, other)

        assert "(FT-CLU-102)" in text
        assert "flux-system" not in [
            each["metadata"]["name"] for each in elsewhere.client.get("/api/v1/namespaces")["items"]
        ]

    def test_a_renewed_kubeconfig_replaces_nothing(self, project: Project, stack: dict[str, Any]) -> None:
        renewed = project.folder / "renewed"
        renewed.write_text(Path(stack["cluster"]["kubeconfig"]).read_text())
        project.stack(NAME, **stack | {"cluster": {"kubeconfig": "renewed", "context": NAME}})

        changes = project.changes(NAME)

        assert set(changes) <= {"kubernetes cluster"}
        assert [change[0] for change in changes.values()] in ([], ["update"])

    def test_a_secret_kubeconfig_stays_secret(self, lab: Lab, project: Project, stack: dict[str, Any]) -> None:
        """Set as the documentation says, it is in neither the stack file, the diff, the output nor the state."""
        content = Path(stack["cluster"]["kubeconfig"]).read_text()
        key = yaml.safe_load(content)["users"][0]["user"]["client-key-data"]
        del stack["cluster"]["kubeconfig"]
        project.stack(NAME, **stack)
        for arguments in (
            ["config", "set", "--secret", "--path", "cluster.kubeconfigContent", content, "--stack", NAME],
            ["preview", "--diff", "--stack", NAME],
            ["up", "--yes", "--skip-preview", "--stack", NAME],
            ["stack", "export", "--stack", NAME],
        ):
            outcome = project.run(*arguments)
            assert outcome.succeeded, outcome.text
            assert key not in outcome.text
        assert key not in (project.folder / f"Pulumi.{NAME}.yaml").read_text()
        for checkpoint in (lab.pulumi.folder / "backend").rglob("*.json*"):
            assert key not in checkpoint.read_text()


class WithKeys:
    """A stack with two tenants, both with deploy keys that the stack's file holds encrypted."""

    def __init__(self, lab: Lab, cluster: ApiServer, project: Project) -> None:
        self.project = project
        self.file = project.folder / f"Pulumi.{PLAIN}.yaml"
        tenants = {}
        for tenant, key in {"dev-team": KEY, "ops-team": generate().private}.items():
            url = lab.git.ssh_url(tenant, "apps")
            project.tenant(tenant, {"namespaces": [{"name": tenant}], "source": {"url": url}})
            tenants[tenant] = {"source": {"deployKey": project.secret(PLAIN, key)}}
        project.stack(
            PLAIN,
            cluster={"kubeconfig": str(cluster.kubeconfig)},
            flux=lab.bundle(),
            git={"knownHostsFile": str(lab.git.known_hosts)},
            policies={"engine": "none"},
            tenants=tenants,
        )
        self.encrypted = self.file.read_text()

    def plain(self, key: str | None = KEY) -> dict[str, Any]:
        """The stack's file with the key of one tenant in plain text, or without it."""
        content: dict[str, Any] = yaml.safe_load(self.encrypted)
        content["config"][f"{PROJECT}:tenants"]["dev-team"]["source"] = {"deployKey": key} if key else {}
        return content

    def preview(self, *options: str) -> Outcome:
        return self.project.run("preview", "--stack", PLAIN, *options)

    def refusal(self, *options: str) -> str:
        """What a preview says that plans nothing; the key is not in it."""
        outcome = self.preview(*options)
        assert not outcome.succeeded, outcome.text
        assert not [line for line in KEY.splitlines()[1:-1] if line in outcome.text]
        assert "kubernetes:" not in outcome.text and "Traceback" not in outcome.text
        return outcome.text


@pytest.fixture(scope="module")
def written(lab: Lab, elsewhere: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> WithKeys:
    """Such a stack of a project that has a name of its own."""
    return WithKeys(lab, elsewhere, Project(tmp_path_factory.mktemp("project") / PROJECT, lab.pulumi, PROJECT))


@pytest.fixture
def with_keys(written: WithKeys) -> WithKeys:
    """The same as it was written first."""
    written.file.write_text(written.encrypted)
    return written


def test_plain_secrets_are_found_in_a_project_with_another_name(with_keys: WithKeys) -> None:
    with_keys.file.write_text(yaml.safe_dump(with_keys.plain()))

    assert f"Pulumi.{PLAIN}.yaml: {EXPOSED}" in with_keys.refusal()


def test_plain_secrets_are_found_below_a_key_with_no_or_another_project_name(with_keys: WithKeys) -> None:
    content = with_keys.plain()
    content["config"]["tenants"] = content["config"].pop(f"{PROJECT}:tenants")
    content["config"]["flux-tenancy:git"] = {}
    with_keys.file.write_text(yaml.safe_dump(content))

    text = with_keys.refusal()

    for line in (
        EXPOSED,
        f"tenants: .*{PROJECT}:tenants",
        f"flux-tenancy:git: .*{PROJECT}:git",
    ):
        assert re.search(f"Pulumi.{PLAIN}.yaml: {line}", text)


def test_plain_secrets_are_found_in_a_file_given_on_the_command_line(with_keys: WithKeys) -> None:
    other = with_keys.project.folder / "other.yaml"
    other.write_text(yaml.safe_dump(with_keys.plain()))

    assert f"other.yaml: {EXPOSED}" in with_keys.refusal("--config-file", "other.yaml")

    # That file counts, also where it is the one in order.
    other.write_text(with_keys.encrypted)
    with_keys.file.write_text(yaml.safe_dump(with_keys.plain()))
    outcome = with_keys.preview(f"--config-file={other}")
    assert outcome.succeeded and "kubernetes:core/v1:Secret" in outcome.text, outcome.text


def test_plain_secrets_are_found_in_the_project_file(with_keys: WithKeys) -> None:
    with_keys.file.write_text(yaml.safe_dump(with_keys.plain(key=None)))
    file = with_keys.project.folder / "Pulumi.yaml"
    said = file.read_text()
    file.write_text(f"{said}config:\n  tenants.dev-team.source.deployKey: {{value: {json.dumps(KEY)}}}\n")

    try:
        assert f"Pulumi.yaml: {EXPOSED}" in with_keys.refusal()
    finally:
        file.write_text(said)
