"""The values of Capsule's chart: nothing that cannot be had, and nobody who is not meant to be there."""

import re

import pytest
from sample_capsule import capsule_config

from flux_tenancy.components.cluster.client import Identity
from flux_tenancy.components.installs.capsule import PROTECTED_NAMESPACES, administrator_problems, helm_values

ADMINISTRATORS = [
    {"kind": "User", "name": "ada@example.com"},
    {"kind": "Group", "name": "platform"},
    {"kind": "ServiceAccount", "name": "deployer", "namespace": "ci"},
]


def test_no_job_with_an_image_of_its_own_and_no_other_controller_is_needed():
    values = helm_values(capsule_config())

    assert values["crds"] == {"install": False}
    assert not any(job["enabled"] for job in values["global"]["jobs"].values())
    assert (values["tls"]["enableController"], values["certManager"]["generateCertificates"]) == (True, False)


def test_replications_without_an_account_have_one_without_rights():
    options = helm_values(capsule_config())["manager"]["options"]

    assert options["impersonation"] == {
        "tenantDefaultServiceAccount": "default",
        "globalDefaultServiceAccount": "default",
        "globalDefaultServiceAccountNamespace": "capsule-system",
    }
    assert options["allowServiceAccountPromotion"] is False


def test_administrators_are_those_of_the_configuration_and_nobody_else_is_a_user():
    options = helm_values(capsule_config(administrators=ADMINISTRATORS))["manager"]["options"]

    assert options["administrators"] == [
        {"kind": "User", "name": "ada@example.com"},
        {"kind": "Group", "name": "platform"},
        {"kind": "ServiceAccount", "name": "system:serviceaccount:ci:deployer"},
    ]
    # Not empty: the chart's default is a group that an identity provider may have.
    assert options["users"] == [{"kind": "User", "name": "system:nobody"}]


def test_a_single_replica_has_no_disruption_budget_that_would_block_drains():
    assert "extraManifests" not in helm_values(capsule_config(replicas=1))
    [budget] = helm_values(capsule_config(replicas=2))["extraManifests"]
    assert (budget["kind"], budget["spec"]["minAvailable"]) == ("PodDisruptionBudget", 1)


@pytest.mark.parametrize(
    ("name", "protected"),
    [("kube-system", True), ("kube-web", True), ("default", True), ("flux-system", True), ("capsule-system", True)]
    + [("dev-team", False), ("kubernetes-docs", False), ("default-backend", False)],
)
def test_names_of_the_platform_cannot_be_those_of_a_tenants_namespace(name, protected):
    assert (re.search(PROTECTED_NAMESPACES, name) is not None) is protected


@pytest.mark.parametrize(
    ("name", "groups", "accepted"),
    [
        ("ada@example.com", (), True),
        ("bob", ("system:authenticated", "platform"), True),
        ("system:serviceaccount:ci:deployer", (), True),
        ("system:serviceaccount:other:deployer", (), False),
        # A user of the name of a group.
        ("platform", ("ada@example.com",), False),
    ],
)
def test_only_an_administrator_applies_the_stack(name, groups, accepted):
    config = capsule_config(administrators=ADMINISTRATORS)

    problems = administrator_problems(config, Identity(name, groups), "Pulumi.staging.yaml")

    assert [(each.path, each.code) for each in problems] == (
        [] if accepted else [("capsule.administrators", "FT-CAP-008")]
    )
