"""Keys of a stack's file that are not used are errors, each with the right spelling."""

from __future__ import annotations

import pytest
from sample_stack import CLUSTER, load, problems, write_project_file

from flux_tenancy.components.stack.files.stack_file import check_keys, section_of
from tests.support.messages import said

PROJECT = "platform"
IN_PLAIN_TEXT = said("FT-CFG-640", "", "cluster.kubeconfigContent", "")


@pytest.mark.parametrize(
    ("key", "section"),
    [
        ("tenants", "tenants"),
        ("platform:tenants", "tenants"),
        ("platform:config:tenants", "tenants"),
        ("other:tenants", None),
        ("other:config:tenants", None),
        ("pulumi:tags", None),
    ],
)
def test_a_key_sets_the_same_section_as_for_pulumi(key, section):
    assert section_of(key, PROJECT) == section


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["platform:tenants", "platform:config:flux", "pulumi:disable-default-providers", "pulumi:tags"], []),
        (["tenants"], ["tenants: " + said("FT-CFG-621", "platform", "tenants")]),
        (
            ["flux-tenancy:tenants"],
            ["flux-tenancy:tenants: " + said("FT-CFG-627", "platform", "write platform:tenants")],
        ),
        (
            ["other:config:tenants.dev-team.source.deployKey"],
            [
                "other:config:tenants.dev-team.source.deployKey: "
                + said("FT-CFG-627", "platform", "write platform:tenants.dev-team.source.deployKey")
            ],
        ),
        (
            ["kubernetes:context"],
            ["kubernetes:context: " + said("FT-CFG-627", "platform", "remove it; platform:cluster configures this")],
        ),
        (
            ["github:token"],
            ["github:token: " + said("FT-CFG-627", "platform", "remove it; platform:github configures this")],
        ),
        (["aws:region"], ["aws:region: " + said("FT-CFG-627", "platform", "remove it")]),
        (
            ["plumi:tags", "platfrom:zebra"],
            [
                "plumi:tags: " + said("FT-CFG-627", "platform", "did you mean pulumi:tags?"),
                "platfrom:zebra: " + said("FT-CFG-627", "platform", "did you mean platform:zebra?"),
            ],
        ),
        (
            ["platform:tenants", "platform:config:tenants"],
            ["platform:config:tenants: " + said("FT-CFG-622", "platform:tenants", "platform", "tenants")],
        ),
        (
            ["platform:tenants", "tenants"],
            [
                "tenants: " + said("FT-CFG-621", "platform", "tenants"),
                "tenants: " + said("FT-CFG-622", "platform:tenants", "platform", "tenants"),
            ],
        ),
    ],
)
def test_an_unused_key_is_reported_with_the_right_spelling(keys, said):
    found = check_keys(keys, "Pulumi.staging.yaml", PROJECT)

    assert [f"{problem.path}: {problem.message}" for problem in found] == said


def test_keys_without_the_project_are_reported_together_with_the_secrets_in_them(tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text(
        "config:\n  aws:region: eu-west-1\n  cluster:\n    kubeconfigContent: pa55word\n"
    )

    found = problems(tmp_path, cluster={"kubeconfigContent": "pa55word"}, secret_keys={"cluster"})

    assert found == [
        f"Pulumi.staging.yaml: aws:region: {said('FT-CFG-627', 'flux-tenancy', 'remove it')}",
        f"Pulumi.staging.yaml: cluster: {said('FT-CFG-621', 'flux-tenancy', 'cluster')}",
        f"Pulumi.staging.yaml: cluster.kubeconfigContent: {IN_PLAIN_TEXT}",
    ]
    assert "pa55word" not in str(found)


def test_a_renamed_project_reads_its_own_keys(tmp_path):
    write_project_file(tmp_path, PROJECT)
    (tmp_path / "Pulumi.staging.yaml").write_text(
        "config:\n  platform:cluster: {kubeconfigContent: {secure: v1:AAAA}}\n  pulumi:tags: {team: a}\n"
    )

    config = load(tmp_path, cluster={"kubeconfigContent": "token: pa55word"}, secret_keys={"cluster"})

    assert config.cluster.kubeconfig_content is not None


def test_a_valid_file_loads_without_errors(tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text("config:\n  flux-tenancy:cluster: {kubeconfig: kubeconfig}\n")

    assert load(tmp_path, cluster=CLUSTER).cluster.kubeconfig == "kubeconfig"
