"""Who may preview a stack: what they may read, and which subjects are refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from recorded_program import readable_by_previewers, run
from sample_stack import problems

from flux_tenancy.components.cluster.component import PREVIEWER, READABLE, Cluster, ClusterArgs, previewer_access
from flux_tenancy.components.cluster.config import ClusterConfig
from flux_tenancy.operations.drift.foreign_grants import FOREIGN_TYPES, OF_PLATFORM

UID = "11111111-1111-1111-1111-111111111111"
USER = {"kind": "User", "name": "ci"}
GROUP = {"kind": "Group", "name": "reviewers"}
ACCOUNT = {"kind": "ServiceAccount", "name": "preview", "namespace": "ci"}
RBAC = "rbac.authorization.k8s.io"


def config(*previewers: dict[str, str]) -> ClusterConfig:
    return ClusterConfig.model_validate({"kubeconfig": "kubeconfig", "previewers": list(previewers)})


def registered(*previewers: dict[str, str]):
    return run(lambda: Cluster("cluster", ClusterArgs(config(*previewers), UID)) and None)


def test_a_stack_without_previewers_registers_nothing_more():
    assert previewer_access(()) == []
    assert not [name for name in registered() if name.startswith("ClusterRole")]


def test_previewers_are_bound_to_one_role_on_the_stacks_cluster():
    found = registered(USER, GROUP, ACCOUNT)

    binding = found[f"ClusterRoleBinding {PREVIEWER}"]
    assert binding.provider == found[f"ClusterRole {PREVIEWER}"].provider == "kubernetes cluster"
    assert binding.properties["roleRef"] == {"apiGroup": RBAC, "kind": "ClusterRole", "name": PREVIEWER}
    assert binding.properties["subjects"] == [
        {"kind": "User", "name": "ci", "apiGroup": RBAC},
        {"kind": "Group", "name": "reviewers", "apiGroup": RBAC},
        {"kind": "ServiceAccount", "name": "preview", "namespace": "ci"},
    ]


def test_the_role_only_reads_and_names_every_resource_except_secrets():
    assert not {"secrets"} & {resource for _, resources in READABLE for resource in resources}
    role = previewer_access(config(USER).previewers)[0]

    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list"}
    assert not [rule for rule in role["rules"] if "*" in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])]
    assert not [rule for rule in role["rules"] if any("/" in each for each in rule["resources"])]


def test_a_kind_that_the_role_does_not_name_fails_each_test_that_registers_it():
    assert readable_by_previewers("kubernetes:notification.toolkit.fluxcd.io/v1beta3:Alert")
    assert not readable_by_previewers("kubernetes:storage.k8s.io/v1:StorageClass")


def test_the_role_lists_all_that_drift_looks_for_but_secrets():
    assert [each for each in FOREIGN_TYPES | OF_PLATFORM if not readable_by_previewers(each)] == []


@pytest.mark.parametrize(
    ("subject", "code"),
    [
        ({"kind": "ServiceAccount", "name": "preview"}, "FT-CFG-605"),
        (USER | {"namespace": "ci"}, "FT-CFG-183"),
        (GROUP | {"name": "system:authenticated"}, "FT-CFG-184"),
        (GROUP | {"name": "system:serviceaccounts:apps"}, "FT-CFG-184"),
        (USER | {"name": "system:serviceaccount:apps:dev-team"}, "FT-CFG-184"),
    ],
)
def test_a_subject_that_may_be_a_tenants_or_is_incomplete_is_refused(subject, code):
    with pytest.raises(ValidationError) as refused:
        config(subject)

    assert [error["ctx"]["error"].args[0].code for error in refused.value.errors()] == [code]


def test_a_service_account_of_a_tenant_is_refused(tmp_path):
    cluster = {"kubeconfig": "kubeconfig", "previewers": [USER, ACCOUNT, ACCOUNT | {"namespace": "apps"}]}

    [problem] = problems(tmp_path, cluster=cluster, tenants={"dev-team": {}})

    assert "cluster.previewers[2].namespace" in problem and "tenant dev-team" in problem
