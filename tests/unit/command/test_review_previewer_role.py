"""`flux-tenancy review previewer-role`: the manifests of the previewers, without a cluster and without a passphrase."""

from __future__ import annotations

import pytest
import yaml
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.components.cluster.component import previewer_access
from flux_tenancy.components.cluster.subjects import Subject

SUBJECT = "{kind: Group, name: reviewers}"


@pytest.fixture
def printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Without pulumi, which would decrypt.
    monkeypatch.setenv("PATH", "")
    (tmp_path / "Pulumi.yaml").write_text("name: flux-tenancy\n")

    def run(cluster: str):
        (tmp_path / "Pulumi.staging.yaml").write_text(f"config:\n  flux-tenancy:cluster: {{{cluster}}}\n")
        return CliRunner().invoke(app, ["review", "previewer-role", "--stack", "staging"])

    return run


@pytest.mark.parametrize("kubeconfig", ["kubeconfig: x", "kubeconfigContent: {secure: v1:abc}"])
def test_the_role_and_its_binding_are_printed_as_an_update_applies_them(printed, kubeconfig):
    done = printed(f"{kubeconfig}, previewers: [{SUBJECT}]")

    previewer = Subject.model_validate(yaml.safe_load(SUBJECT))
    assert done.exit_code == 0
    assert list(yaml.safe_load_all(done.stdout)) == previewer_access((previewer,))


def test_a_name_that_kubectl_would_read_as_a_number_has_quotes(printed):
    assert "name: '0123456789'" in printed('kubeconfig: x, previewers: [{kind: Group, name: "0123456789"}]').stdout


def test_a_stack_without_previewers_is_an_error(printed):
    done = printed("kubeconfig: x")

    assert (done.exit_code, done.stdout) == (2, "")
    assert "FT-OPS-053" in done.stderr


def test_an_invalid_subject_is_named_with_file_and_key(printed):
    done = printed("kubeconfig: x, previewers: [{kind: ServiceAccount, name: ci}]")

    assert done.exit_code == 2
    assert "Pulumi.staging.yaml: cluster.previewers[0]" in done.stderr and "FT-CFG-182" in done.stderr
