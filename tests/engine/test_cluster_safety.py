"""The program refuses a wrong cluster before the first resource, with the real engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from flux_tenancy.review.approval.guard import VARIABLE
from flux_tenancy.review.render.stack import render_stack
from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project

NAME = "safety"


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[RunningCluster]:
    with lab.cluster(NAME) as running:
        yield running


@pytest.fixture(scope="module")
def elsewhere(lab: Lab) -> Iterator[RunningCluster]:
    with lab.cluster("elsewhere") as running:
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
        self, project: Project, elsewhere: RunningCluster, stack: dict[str, Any]
    ) -> None:
        project.stack(NAME, **stack)
        plan = str(project.folder / "plan.json")
        assert project.run("preview", "--save-plan", plan, "--stack", NAME).succeeded
        # What the program makes up is not in the plan of a fresh stack, and does not stop the update that follows it.
        outcome = project.run("up", "--yes", "--skip-preview", "--plan", plan, "--stack", NAME)
        assert outcome.succeeded, outcome.text
        other = stack | {"cluster": {"kubeconfig": str(elsewhere.kubeconfig), "context": "elsewhere"}}

        text = refusal(project, other)

        assert "(FT-CLU-102)" in text
        assert elsewhere.find("namespace", "flux-system") is None

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


def test_only_what_was_approved_is_applied(
    project: Project, stack: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.stack(NAME, **stack)
    approved = render_stack(project.folder, NAME).digest
    monkeypatch.setenv(VARIABLE, approved)

    text = refusal(project, stack | {"policies": {"mode": "audit"}})
    project.stack(NAME, **stack)
    preview = project.run("preview", "--stack", NAME)

    assert "FT-REV-501" in text and approved in text
    assert preview.succeeded, preview.text
    assert f"would apply {approved}, as approved" in preview.text
