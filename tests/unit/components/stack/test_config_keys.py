"""Keys of a stack's file that nobody reads are errors, each with its right spelling."""

from __future__ import annotations

import pytest
from sample_stack import CLUSTER, load, problems, write_project_file

from components.stack.config_keys import check_keys, section_of

PROJECT = "platform"


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
def test_a_key_is_taken_for_the_section_that_pulumi_takes_it_for(key, section):
    assert section_of(key, PROJECT) == section


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["platform:tenants", "platform:config:flux", "pulumi:disable-default-providers", "pulumi:tags"], []),
        (["tenants"], ["tenants: lacks the project's name; write platform:tenants"]),
        (
            ["flux-tenancy:tenants"],
            [
                "flux-tenancy:tenants: belongs to a project flux-tenancy, and this one is platform; "
                "write platform:tenants"
            ],
        ),
        (
            ["other:config:tenants.dev-team.source.deployKey"],
            [
                "other:config:tenants.dev-team.source.deployKey: belongs to a project other, and this one is platform; "
                "write platform:tenants.dev-team.source.deployKey"
            ],
        ),
        (
            ["kubernetes:context"],
            [
                "kubernetes:context: is read by nobody, since this project sets up its providers itself: the cluster "
                "is named by platform:cluster; take it out"
            ],
        ),
        (
            ["github:token"],
            [
                "github:token: is read by nobody, since this project sets up its providers itself: the credentials "
                "are those of platform:github; take it out"
            ],
        ),
        (["aws:region"], ["aws:region: is read by nobody in the project platform; take it out"]),
        (
            ["plumi:tags", "platfrom:zebra"],
            [
                "plumi:tags: is read by nobody in the project platform; did you mean pulumi:tags?",
                "platfrom:zebra: is read by nobody in the project platform; did you mean platform:zebra?",
            ],
        ),
        (
            ["platform:tenants", "platform:config:tenants"],
            ["platform:config:tenants: is written as platform:tenants too; keep platform:tenants alone"],
        ),
        (
            ["platform:tenants", "tenants"],
            [
                "tenants: lacks the project's name; write platform:tenants",
                "tenants: is written as platform:tenants too; keep platform:tenants alone",
            ],
        ),
    ],
)
def test_what_belongs_to_nobody_is_told_with_the_right_spelling(keys, said):
    assert [str(each) for each in check_keys(keys, "Pulumi.staging.yaml", PROJECT)] == [
        f"Pulumi.staging.yaml: {problem}" for problem in said
    ]


def test_keys_without_the_project_are_told_together_with_the_secrets_in_them(tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text(
        "config:\n  aws:region: eu-west-1\n  cluster:\n    kubeconfigContent: pa55word\n"
    )

    found = problems(tmp_path, cluster={"kubeconfigContent": "pa55word"}, secret_keys={"cluster"})

    assert [problem.removeprefix("Pulumi.staging.yaml: ").partition(";")[0] for problem in found] == [
        "aws:region: is read by nobody in the project flux-tenancy",
        "cluster: lacks the project's name",
        "cluster.kubeconfigContent: stands in plain text",
    ]
    assert "pa55word" not in str(found)


def test_a_renamed_project_reads_its_own_keys(tmp_path):
    write_project_file(tmp_path, PROJECT)
    (tmp_path / "Pulumi.staging.yaml").write_text(
        "config:\n  platform:cluster: {kubeconfigContent: {secure: v1:AAAA}}\n  pulumi:tags: {team: a}\n"
    )

    config = load(tmp_path, cluster={"kubeconfigContent": "token: pa55word"}, secret_keys={"cluster"})

    assert config.cluster.kubeconfig_content is not None


def test_a_renamed_project_refuses_its_own_keys_in_plain_text(tmp_path):
    write_project_file(tmp_path, PROJECT)
    (tmp_path / "Pulumi.staging.yaml").write_text("config:\n  platform:cluster: {kubeconfigContent: pa55word}\n")

    (problem,) = problems(tmp_path, cluster={"kubeconfigContent": "pa55word"}, secret_keys={"cluster"})

    assert problem.startswith("Pulumi.staging.yaml: cluster.kubeconfigContent: stands in plain text")


def test_the_control_has_nothing_to_say(tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text("config:\n  flux-tenancy:cluster: {kubeconfig: kubeconfig}\n")

    assert load(tmp_path, cluster=CLUSTER).cluster.kubeconfig == "kubeconfig"
