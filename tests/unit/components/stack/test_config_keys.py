"""Keys of a stack's file that are not used are errors, each with the right spelling."""

from __future__ import annotations

import pytest
from sample_stack import CLUSTER, load, problems, write_project_file

from components.stack.config_keys import check_keys, section_of
from components.stack.config_wordings import (
    CLUSTER_PROVIDER_UNUSED,
    DUPLICATE_SECTION,
    GITHUB_PROVIDER_UNUSED,
    KEY_OF_ANOTHER_PROJECT,
    PROJECT_NAME_MISSING,
    SECRET_IN_PLAIN_TEXT,
    UNUSED_KEY,
    UNUSED_KEY_LIKE,
)

PROJECT = "platform"
IN_PLAIN_TEXT = SECRET_IN_PLAIN_TEXT(key="cluster.kubeconfigContent", option="")


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
        (["tenants"], ["tenants: " + PROJECT_NAME_MISSING(key="tenants", project="platform")]),
        (
            ["flux-tenancy:tenants"],
            [
                "flux-tenancy:tenants: "
                + KEY_OF_ANOTHER_PROJECT(name="tenants", namespace="flux-tenancy", project="platform")
            ],
        ),
        (
            ["other:config:tenants.dev-team.source.deployKey"],
            [
                "other:config:tenants.dev-team.source.deployKey: "
                + KEY_OF_ANOTHER_PROJECT(
                    name="tenants.dev-team.source.deployKey", namespace="other", project="platform"
                )
            ],
        ),
        (
            ["kubernetes:context"],
            ["kubernetes:context: " + CLUSTER_PROVIDER_UNUSED(project="platform")],
        ),
        (
            ["github:token"],
            ["github:token: " + GITHUB_PROVIDER_UNUSED(project="platform")],
        ),
        (["aws:region"], ["aws:region: " + UNUSED_KEY(project="platform")]),
        (
            ["plumi:tags", "platfrom:zebra"],
            [
                "plumi:tags: " + UNUSED_KEY_LIKE(project="platform", suggestion="pulumi:tags"),
                "platfrom:zebra: " + UNUSED_KEY_LIKE(project="platform", suggestion="platform:zebra"),
            ],
        ),
        (
            ["platform:tenants", "platform:config:tenants"],
            [
                "platform:config:tenants: "
                + DUPLICATE_SECTION(other="platform:tenants", project="platform", section="tenants")
            ],
        ),
        (
            ["platform:tenants", "tenants"],
            [
                "tenants: " + PROJECT_NAME_MISSING(key="tenants", project="platform"),
                "tenants: " + DUPLICATE_SECTION(other="platform:tenants", project="platform", section="tenants"),
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
        f"Pulumi.staging.yaml: aws:region: {UNUSED_KEY(project='flux-tenancy')}",
        f"Pulumi.staging.yaml: cluster: {PROJECT_NAME_MISSING(project='flux-tenancy', key='cluster')}",
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


def test_a_renamed_project_refuses_its_own_keys_in_plain_text(tmp_path):
    write_project_file(tmp_path, PROJECT)
    (tmp_path / "Pulumi.staging.yaml").write_text("config:\n  platform:cluster: {kubeconfigContent: pa55word}\n")

    (problem,) = problems(tmp_path, cluster={"kubeconfigContent": "pa55word"}, secret_keys={"cluster"})

    assert problem == f"Pulumi.staging.yaml: cluster.kubeconfigContent: {IN_PLAIN_TEXT}"


def test_a_valid_file_loads_without_errors(tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text("config:\n  flux-tenancy:cluster: {kubeconfig: kubeconfig}\n")

    assert load(tmp_path, cluster=CLUSTER).cluster.kubeconfig == "kubeconfig"
