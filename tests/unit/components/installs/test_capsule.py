"""Capsule: its section, its pinned chart and values, and the order of what is installed."""

import re
from typing import Any, cast

import pytest
from kubernetes.client import ApiClient
from recorded_program import run
from sample_capsule import CAPSULE, bundled_chart, capsule_config, chart_archive, definition
from sample_stack import load, refusals

from flux_tenancy.components.cluster.client import Identity
from flux_tenancy.components.cluster.hooks import NotReady
from flux_tenancy.components.config.messages import code_of
from flux_tenancy.components.config.pinned_input import PinnedInputError
from flux_tenancy.components.installs import capsule as serving
from flux_tenancy.components.installs.capsule import (
    PROTECTED_NAMESPACES,
    CapsuleInstall,
    CapsuleInstallArgs,
    CapsuleRelease,
    administrator_problems,
    read_capsule,
    wait_until_admitted,
)
from flux_tenancy.components.installs.product import Chart

MODE: dict[str, Any] = {"tenancy": {"mode": "capsule"}}


def test_a_capsule_without_more_has_a_second_replica(tmp_path):
    config = load(tmp_path, capsule=CAPSULE, **MODE).capsule

    assert config is not None
    assert (config.version, config.replicas) == ("0.14.0", 2)


@pytest.mark.parametrize(
    ("keys", "key", "code"),
    [
        ({"version": "0.13.2"}, "version", "FT-CFG-452"),
        ({"version": "0.14"}, "version", "FT-CFG-006"),
        ({"chart": {"url": "https://a.example/c.tgz", "bundle": "c.tgz"}}, "chart", "FT-CFG-273"),
        ({"replicas": 0}, "replicas", "FT-CFG-609"),
        ({"administrators": []}, "administrators", "FT-CFG-010"),
        ({"administrators": [{"kind": "Group", "name": "system:masters"}]}, "administrators[0]", "FT-CFG-184"),
        ({"administrators": [{"kind": "ServiceAccount", "name": "ci"}]}, "administrators[0].namespace", "FT-CFG-605"),
        ({"values": {}}, "values", "FT-CFG-602"),
    ],
)
def test_what_cannot_be_installed_of_capsule_is_refused_where_it_stands(tmp_path, keys, key, code):
    assert refusals(tmp_path, capsule=CAPSULE | keys, **MODE) == [f"capsule.{key} {code}"]


@pytest.mark.parametrize(
    ("sections", "refused"),
    [(MODE, "tenancy.mode FT-CFG-670"), ({"capsule": CAPSULE}, "capsule FT-CFG-820")],
    ids=["mode alone", "capsule alone"],
)
def test_capsule_and_its_mode_go_together(tmp_path, sections, refused):
    assert refusals(tmp_path, **sections) == [refused]


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """A cache of the user's that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def served(definition):
    return [version["name"] for version in definition["spec"]["versions"] if version["served"]]


def test_the_definitions_of_the_chart_serve_only_the_version_that_is_stored(tmp_path):
    config = bundled_chart(tmp_path, chart_archive())

    found = read_capsule(config, tmp_path)

    assert found.chart.path == f".charts/{config.sha256}.tgz"
    assert {each["metadata"]["name"]: served(each) for each in found.definitions} == {
        "tenants.capsule.clastix.io": ["v1beta2"],
        "tenantowners.capsule.clastix.io": ["v1beta2"],
    }


def test_the_published_chart_is_that_of_the_version_unless_another_address_is_given():
    assert capsule_config().address == "https://projectcapsule.github.io/charts/capsule-0.14.0.tgz"
    assert capsule_config(chart={"url": "https://a.example/c.tgz"}).address == "https://a.example/c.tgz"


@pytest.mark.parametrize(
    ("content", "key", "code"),
    [
        (chart_archive(appVersion="0.14.1"), "capsule.version", "FT-CAP-002"),
        (chart_archive(name="capsule-proxy"), "capsule.chart", "FT-CAP-001"),
    ],
)
def test_another_chart_or_that_of_another_capsule_is_refused(tmp_path, content, key, code):
    with pytest.raises(PinnedInputError) as error:
        read_capsule(bundled_chart(tmp_path, content), tmp_path)

    problem = error.value.as_problem("Pulumi.staging.yaml")
    assert (problem.path, code_of(problem.message)) == (key, code)


ADMINISTRATORS = [
    {"kind": "User", "name": "ada@example.com"},
    {"kind": "Group", "name": "platform"},
    {"kind": "ServiceAccount", "name": "deployer", "namespace": "ci"},
]


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


REFUSED = 'admission webhook "validate.kyverno.svc-fail" denied the request: rulestatuses not found'


def test_the_update_goes_on_once_what_capsule_writes_is_admitted():
    asked = []

    wait_until_admitted(lambda path, manifest: asked.append((path, manifest["kind"])), "apps")

    assert asked == [("/apis/capsule.clastix.io/v1beta2/namespaces/apps/rulestatuses", "RuleStatus")]


def test_a_refusal_that_stays_ends_the_update_with_its_reason(monkeypatch):
    monkeypatch.setattr(serving, "TIMEOUT_SECONDS", 0)

    with pytest.raises(NotReady) as failed:
        wait_until_admitted(lambda *_: REFUSED, "apps")

    assert "(FT-CAP-009)" in str(failed.value)
    assert REFUSED in str(failed.value) and "namespace apps" in str(failed.value)


CHART = Chart(".charts/3a.tgz", "0.14.0")
RELEASE, HOME = "Release capsule", "Namespace capsule-system"
ROLES = {"provisioner": ["create", "patch"], "deleter": ["delete"]}
DEFINITION = "CustomResourceDefinition tenants.capsule.clastix.io"


def installed():
    release = CapsuleRelease(CHART, (definition("Tenant", v1beta2=True),))
    args = CapsuleInstallArgs(capsule_config(), release, cast("ApiClient", object()), ["tenant-role"])
    return run(lambda: CapsuleInstall("capsule", args) and None)


def test_the_chart_is_one_release_without_definitions_of_its_own():
    release = installed()[RELEASE].properties

    assert (release["name"], release["namespace"], release["chart"]) == ("capsule", "capsule-system", CHART.path)
    assert release["skipCrds"] is True
    assert release["values"]["manager"]["rbac"] == {"strict": True, "bindableClusterRoles": ["tenant-role"]}


def test_what_capsule_fills_in_goes_after_the_release_and_before_the_namespace():
    resources = installed()
    filled = {
        "ValidatingWebhookConfiguration capsule-dynamic-webhook",
        "MutatingWebhookConfiguration capsule-dynamic-webhook",
        "ClusterRole capsule-namespace-provisioner",
        "ClusterRole capsule-namespace-deleter",
        "ClusterRoleBinding capsule-namespace-provisioner",
    }

    assert resources[RELEASE].after == filled | {HOME, DEFINITION}
    assert all(resources[name].after == {HOME, DEFINITION} for name in filled)
    assert not {"webhooks", "subjects"} & {key for name in filled for key in resources[name].properties}


def test_capsule_has_nothing_to_change_about_the_roles_that_it_writes_when_it_starts():
    resources = installed()
    rules = {role: resources[f"ClusterRole capsule-namespace-{role}"].properties["rules"] for role in ROLES}

    assert rules == {
        role: [{"apiGroups": [""], "resources": ["namespaces"], "verbs": verbs}] for role, verbs in ROLES.items()
    }


def test_the_engine_goes_on_once_a_changed_capsule_serves():
    serving = ["capsule-serving"]

    assert installed()[RELEASE].hooks == {"after_create": serving, "after_update": serving}
