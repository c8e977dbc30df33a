"""The preview at the end of commands that change files: by Pulumi, or without the cluster where it does not answer."""

from __future__ import annotations

import json

import pytest
import yaml
from fake_cluster import FakeCluster, served
from tenants_project import TenantsProject, tenants_project

from flux_tenancy.operations.stack.connected import described_cluster
from flux_tenancy.operations.stack.pulumi_cli import run_pulumi
from flux_tenancy.operations.tenants import lifecycle
from flux_tenancy.operations.tenants.lifecycle import show_preview
from flux_tenancy.project.described_stack import described_platform, listed_tenants
from flux_tenancy.project.errors import OperationError


@pytest.fixture
def project(tmp_path, monkeypatch) -> TenantsProject:
    project = tenants_project(tmp_path, monkeypatch)
    monkeypatch.setattr(lifecycle, "OFFLINE_PREVIEW", ("sh", "-c", 'echo "compared $*"; exit 1', "sh"))
    return project


@pytest.fixture
def cluster(project):
    cluster = FakeCluster()
    cluster.answers |= {
        "/version/": {"gitVersion": "v1.36.3"},
        "/api/v1/namespaces": {"items": [{"metadata": {"name": "kube-system", "uid": "1"}}]},
    }
    with served(cluster, project.folder):
        yield cluster


def test_a_stack_whose_cluster_answers_is_previewed_by_pulumi(project, cluster, capfd):
    show_preview("staging", project.folder)

    shown = capfd.readouterr().out
    assert "Preview of stack staging:\n" in shown
    assert "previewed preview --non-interactive --stack staging\n" in shown


def test_a_failed_preview_is_an_error(project, cluster, capfd):
    (project.folder / "refusal").write_text("error: the namespace apps exists\n")

    with pytest.raises(OperationError) as caught:
        show_preview("staging", project.folder)

    assert caught.value.message.code == "FT-OPS-306"
    assert "the namespace apps exists" in capfd.readouterr().err


def test_without_a_cluster_the_files_are_compared(project, capfd):
    show_preview("staging", project.folder)

    first, *others = capfd.readouterr().out.splitlines()
    assert first.startswith("Stack staging without its cluster, which does not answer (")
    assert others == ["compared staging"]


DIAGNOSTICS = [{"severity": "warning", "message": "old\n"}, {"severity": "error", "message": "it is wrong\n"}]


@pytest.mark.parametrize(
    ("printed", "said", "reason"),
    [
        (
            "Diagnostics:\n  kubernetes:core/v1:Secret (a):\n    error: it is wrong\nerror: update failed\n",
            "",
            "it is wrong",
        ),
        (json.dumps({"diagnostics": DIAGNOSTICS}), "warning: using another host\n", "it is wrong"),
        ("", "warning: old\nerror: the disk is full\n", "the disk is full"),
        ("[]", "", "it gives no reason"),
    ],
)
def test_the_first_error_of_an_operation_is_its_reason(tmp_path, monkeypatch, printed, said, reason):
    (tmp_path / "pulumi").write_text(f"#!/bin/sh\ncat <<'E'\n{printed}\nE\ncat >&2 <<'E'\n{said}\nE\nexit 1\n")
    (tmp_path / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    with pytest.raises(OperationError) as error:
        run_pulumi(["preview"], "staging", tmp_path)

    assert (error.value.message.code, error.value.message.text) == ("FT-OPS-014", f"Pulumi failed: {reason}")


SECTIONS = {
    "cluster": {"kubeconfig": "kubeconfig"},
    "flux": {"sync": {"path": "./clusters"}},
    "tenants": {"dev-team": {}},
}


@pytest.mark.parametrize("place", ["stack", "project", "json"])
def test_a_section_is_read_wherever_pulumi_reads_it(tmp_path, place):
    values = SECTIONS if place != "json" else {key: json.dumps(value) for key, value in SECTIONS.items()}
    of_stack = {f"flux-tenancy:{key}": value for key, value in values.items()}
    of_project = {key: {"value": value} for key, value in SECTIONS.items()} if place == "project" else {}
    project = {"name": "flux-tenancy", "runtime": "python", "config": of_project}
    (tmp_path / "Pulumi.yaml").write_text(yaml.safe_dump(project))
    (tmp_path / "Pulumi.eu.yaml").write_text(yaml.safe_dump({"config": of_stack if place != "project" else {}}))

    assert described_cluster("eu", tmp_path).kubeconfig == "kubeconfig"
    assert described_platform("eu", tmp_path)["path"] == "./clusters"
    assert list(listed_tenants("eu", tmp_path)) == ["dev-team"]
