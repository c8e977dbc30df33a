"""A stack whose tenants make namespaces: what does not go together, and what of the cluster is somebody else's."""

from typing import Any

import pytest
from sample_capsule import CAPSULE as SECTION
from sample_stack import CLUSTER, DEV_TEAM_BASE, load
from sample_stack import problems as problems_of

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.stack.cluster.conflicts import NAMESPACE_TYPE, capsule_problems, surplus_namespaces
from flux_tenancy.components.tenant.capsule.config import TENANT_TYPE
from tests.support.messages import said

CAPSULE = {"mode": "capsule"}
WHERE = "Pulumi.staging.yaml: "
OWNER = "capsule.clastix.io/tenant"


def test_a_namespace_with_a_name_that_another_tenant_could_take_is_refused(tmp_path_factory):
    bases = {"dev-team": DEV_TEAM_BASE, "ops": "namespaces: [{name: dev-team-ops}]\nsource: {url: https://a.example/b}"}
    stack: dict[str, Any] = {"bases": bases, "tenants": {"dev-team": {}, "ops": {}}}

    found = problems_of(tmp_path_factory.mktemp("stack"), tenancy=CAPSULE, capsule=SECTION, **stack)

    problem = said("FT-CFG-001", "the namespaces that tenant dev-team makes: it starts with dev-team-").of(
        "dev-team-ops"
    )
    assert found == [f"tenants/ops.yaml: namespaces[0].name: {problem}"]
    assert load(tmp_path_factory.mktemp("stack"), **stack).tenants["ops"].home == "dev-team-ops"


def test_a_tenant_whose_name_extends_another_ones_is_refused(tmp_path_factory):
    bases = {"dev-team": DEV_TEAM_BASE, "dev": "namespaces: [{name: tools}]\nsource: {url: https://a.example/b}"}
    stack: dict[str, Any] = {"bases": bases, "tenants": {"dev-team": {}, "dev": {}}}

    found = problems_of(tmp_path_factory.mktemp("stack"), tenancy=CAPSULE, capsule=SECTION, **stack)

    problem = said("FT-CFG-001", "the namespaces that tenant dev makes: it starts with dev-")
    assert found == [f"{WHERE}tenants.dev-team: {problem}"]
    assert list(load(tmp_path_factory.mktemp("stack"), **stack).tenants) == ["dev-team", "dev"]


def test_onboarding_by_label_would_fill_the_same_namespaces(tmp_path_factory):
    found = problems_of(tmp_path_factory.mktemp("stack"), tenancy=CAPSULE, tenants={}, policies={"onboarding": True})

    assert any(each.startswith(f"{WHERE}policies.onboarding: does not go together") for each in found)


def problems(projects, namespaces, *, recorded=(), applied=(), existing=(), **sections):
    """The path and the code of each problem with a cluster that has these namespaces, each with its Tenant."""
    installed: dict[str, Any] = {"capsule": SECTION} if "tenancy" in sections else {}
    config = load(projects.mktemp("stack"), tenants={"dev-team": {}}, **installed, **sections)
    labels = {name: {OWNER: tenant} if tenant else {} for name, tenant in namespaces.items()}
    facts = ClusterFacts("uid", "v1.36.3", labels)
    state = State({(TENANT_TYPE, name): {} for name in recorded} | {(NAMESPACE_TYPE, name): {} for name in applied})
    return [(each.path, each.code) for each in capsule_problems(config, facts, state, existing, "Pulumi.staging.yaml")]


def test_a_tenant_of_capsule_that_is_not_the_stacks_is_refused_unless_it_is_adopted(tmp_path_factory):
    adopted = {"cluster": CLUSTER | {"adopt": True}}

    assert problems(tmp_path_factory, {}, existing=["dev-team"], tenancy=CAPSULE) == [
        ("tenants.dev-team", "FT-CAP-051")
    ]
    assert problems(tmp_path_factory, {}, existing=["dev-team"], recorded=["dev-team"], tenancy=CAPSULE) == []
    assert problems(tmp_path_factory, {}, existing=["other"], tenancy=CAPSULE) == []
    assert problems(tmp_path_factory, {}, existing=["dev-team"], tenancy=CAPSULE, **adopted) == []


def test_a_namespace_of_another_tenant_of_capsule_is_refused(tmp_path_factory):
    assert problems(tmp_path_factory, {"apps": "other"}, tenancy=CAPSULE) == [("tenants.dev-team", "FT-CAP-052")]
    assert problems(tmp_path_factory, {"apps": "dev-team"}, tenancy=CAPSULE) == []


def test_the_mode_is_not_changed_back_while_a_tenant_has_namespaces_that_the_stack_does_not_list(tmp_path_factory):
    made = {"apps": "", "dev-team-web": "dev-team", "other": "other"}

    assert problems(tmp_path_factory, made, recorded=["dev-team"]) == [("tenants.dev-team", "FT-CAP-053")]
    assert problems(tmp_path_factory, {"apps": "dev-team"}, recorded=["dev-team"], applied=["apps"]) == []
    # It is listed, but Pulumi does not manage it yet.
    assert problems(tmp_path_factory, {"apps": "dev-team"}, recorded=["dev-team"]) == [
        ("tenants.dev-team", "FT-CAP-053")
    ]
    # Somebody else's Capsule in a cluster of a stack without.
    assert problems(tmp_path_factory, made) == []


@pytest.mark.parametrize(
    ("namespace", "tenant"), [("apps", "dev-team"), ("dev-team-web", "dev-team"), ("ci", None), ("dev-teams", None)]
)
def test_no_service_account_of_a_tenant_administrates_capsule(tmp_path, namespace, tenant):
    administrator = {"kind": "ServiceAccount", "name": "ci", "namespace": namespace}
    sections: dict[str, Any] = {"capsule": SECTION | {"administrators": [administrator]}, "tenancy": CAPSULE}

    if tenant is None:
        assert load(tmp_path, **sections, tenants={"dev-team": {}})
        return
    message = said("FT-CFG-679", tenant, "add namespaces of the platform to any tenant")
    problem = f"{WHERE}capsule.administrators[0].namespace: {message}"
    assert problems_of(tmp_path, **sections, tenants={"dev-team": {}}) == [problem]


@pytest.mark.parametrize(("most", "codes"), [(1, ["FT-CAP-055"]), (2, [])])
def test_more_namespaces_than_a_tenant_may_have_are_named(tmp_path_factory, most, codes):
    config = load(
        tmp_path_factory.mktemp("stack"),
        tenants={"dev-team": {"capsule": {"namespaces": most}}},
        tenancy=CAPSULE,
        capsule=SECTION,
    )
    owners = {"dev-team-web": "dev-team", "dev-team-jobs": "dev-team", "other-web": "other"}
    labels = {"apps": {}, **{name: {OWNER: tenant} for name, tenant in owners.items()}}

    answer = list(surplus_namespaces(config, ClusterFacts("uid", "v1.36.3", labels)))

    assert [each.code for each in answer] == codes
    assert all(
        "has 2 namespaces in addition to its home; the maximum is 1: dev-team-jobs, dev-team-web" in each
        for each in answer
    )
