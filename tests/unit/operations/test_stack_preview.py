"""The preview at the end of commands that change files: by Pulumi, or without the cluster where it does not answer."""

from __future__ import annotations

import pytest
from fake_cluster import FakeCluster, served
from tenants_project import TenantsProject, tenants_project

from flux_tenancy.operations.stack import preview as stack_preview
from flux_tenancy.operations.stack.preview import show_preview
from flux_tenancy.project.errors import OperationError


@pytest.fixture
def project(tmp_path, monkeypatch) -> TenantsProject:
    project = tenants_project(tmp_path, monkeypatch)
    monkeypatch.setattr(stack_preview, "OFFLINE_PREVIEW", ("sh", "-c", 'echo "compared $*"; exit 1', "sh"))
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


def test_without_pulumi_there_is_an_error(project, cluster, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(OperationError) as caught:
        show_preview("staging", project.folder)

    assert caught.value.message.code == "FT-OPS-010"
