"""The right cluster, or none: what the real engine says and does before the first resource."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.lab import Lab, RunningCluster
from tests.support.project import Project


@pytest.fixture
def stack(lab: Lab, staging: RunningCluster, project: Project) -> Iterator[dict[str, Any]]:
    """Sections of a stack without tenants, which each test bends; nothing may be left of it afterwards."""
    yield {
        "cluster": {"kubeconfig": str(staging.kubeconfig), "context": "staging"},
        "flux": lab.bundle("2.9.5"),
    }
    assert project.destroy("staging").succeeded


def refusal(project: Project, sections: dict[str, Any], stack: str = "staging") -> str:
    """What `pulumi up` prints when it refuses; nothing may have been applied, and nobody may see a traceback."""
    project.stack(stack, **sections)
    before = applied(project, stack)
    outcome = project.up(stack)
    assert not outcome.succeeded
    assert "Traceback" not in outcome.text
    assert applied(project, stack) == before
    return outcome.text


def applied(project: Project, stack: str) -> list[str]:
    """What the state holds beside what the engine puts there for itself: the stack, and its own provider."""
    return [entry for entry in project.resources(stack) if entry != "pulumi default" and not entry.startswith("Stack ")]


def test_all_problems_come_at_once_and_nothing_is_applied(
    project: Project, staging: RunningCluster, stack: dict[str, Any]
) -> None:
    project.tenant(
        "dev-team", {"namespaces": [{"name": "kube-apps"}], "source": {"url": "https://git.example.com/a/b"}}
    )
    stack["cluster"]["contxt"] = "staging"
    stack["flux"]["profile"] = "lenient"
    stack["tenants"] = {"dev-team": {"sync": {"interval": "5 minutes"}}, "ghost": {}}

    text = refusal(project, stack)

    for line in (
        "5 problems to mend before anything is applied:",
        "Pulumi.staging.yaml: cluster.contxt: is an unknown key; did you mean 'context'?",
        "Pulumi.staging.yaml: flux.profile: 'lenient' is not one of 'multi-tenant' or 'single-tenant'",
        "Pulumi.staging.yaml: tenants.dev-team.sync.interval: '5 minutes' is not a duration",
        "tenants/dev-team.yaml: namespaces[0].name: 'kube-apps' is reserved for the cluster's own parts",
        "tenants/ghost.yaml: does not exist, but Pulumi.staging.yaml lists the tenant ghost",
    ):
        assert line in text
    assert staging.get("namespace", "flux-system") is None


def test_a_wrong_digest_and_an_unreachable_cluster_come_together(project: Project, stack: dict[str, Any]) -> None:
    stack["flux"]["sha256"] = "0" * 64
    kubeconfig = yaml.safe_load(Path(stack["cluster"]["kubeconfig"]).read_text())
    kubeconfig["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (project.folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    stack["cluster"]["kubeconfig"] = "kubeconfig"

    text = refusal(project, stack)

    assert "flux.sha256" in text and "correct flux.sha256 only if you trust what you found" in text
    assert "https://127.0.0.1:1 cannot be reached; is the cluster running" in text


def test_another_cluster_than_the_expected_one_is_refused(project: Project, stack: dict[str, Any]) -> None:
    stack["cluster"]["uid"] = "00000000-0000-0000-0000-000000000000"
    assert "expects the cluster 00000000-0000-0000-0000-000000000000, but the kubeconfig leads to" in refusal(
        project, stack
    )


def test_the_cluster_is_recorded_and_another_one_refused(
    project: Project, production: RunningCluster, stack: dict[str, Any]
) -> None:
    project.stack("staging", **stack)
    assert project.up("staging").succeeded
    elsewhere = stack | {"cluster": {"kubeconfig": str(production.kubeconfig), "context": "production"}}

    text = refusal(project, elsewhere)

    assert "this stack was applied to the cluster" in text
    assert production.get("namespace", "flux-system") is None
    project.stack("staging", **stack)


def test_a_renewed_kubeconfig_replaces_nothing(project: Project, stack: dict[str, Any]) -> None:
    project.stack("staging", **stack)
    assert project.up("staging").succeeded
    renewed = project.folder / "renewed"
    renewed.write_text(Path(stack["cluster"]["kubeconfig"]).read_text())
    project.stack("staging", **stack | {"cluster": {"kubeconfig": "renewed", "context": "staging"}})

    changes = project.changes("staging")

    assert set(changes) <= {"kubernetes cluster"}
    assert [change[0] for change in changes.values()] in ([], ["update"])
    project.stack("staging", **stack)


def test_a_namespace_that_is_somebody_elses_is_refused(
    project: Project, staging: RunningCluster, stack: dict[str, Any]
) -> None:
    staging.kubectl("create", "namespace", "taken")
    project.tenant("dev-team", {"namespaces": [{"name": "taken"}], "source": {"url": "https://git.example.com/a/b"}})
    stack["tenants"] = {"dev-team": {}}
    try:
        assert "the namespace 'taken' exists in the cluster and is not this tenant's" in refusal(project, stack)
    finally:
        staging.kubectl("delete", "namespace", "taken")


def test_a_secret_kubeconfig_stays_secret(lab: Lab, project: Project, stack: dict[str, Any]) -> None:
    """Set as the documentation says, it is in neither the stack file, the diff, the output nor the state."""
    content = Path(stack["cluster"]["kubeconfig"]).read_text()
    key = yaml.safe_load(content)["users"][0]["user"]["client-key-data"]
    del stack["cluster"]["kubeconfig"]
    project.stack("staging", **stack)
    for arguments in (
        ["config", "set", "--secret", "--path", "cluster.kubeconfigContent", content, "--stack", "staging"],
        ["preview", "--diff", "--stack", "staging"],
        ["up", "--yes", "--skip-preview", "--stack", "staging"],
        ["stack", "export", "--stack", "staging"],
    ):
        outcome = project.run(*arguments)
        assert outcome.succeeded, outcome.text
        assert key not in outcome.text
    assert key not in (project.folder / "Pulumi.staging.yaml").read_text()
    for checkpoint in (lab.pulumi.folder / "backend").rglob("*.json*"):
        assert key not in checkpoint.read_text()
