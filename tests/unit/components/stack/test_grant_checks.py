"""Grants of tenants: what may be granted, for how long, and every error with its file and key."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from sample_stack import DEV_TEAM_BASE, load, problems

from flux_tenancy.components.cluster.client import NamespacedKind
from flux_tenancy.components.stack.checks import policies as grants
from flux_tenancy.components.stack.checks.policies import expiring_grants, namespaced_objects

TODAY = date(2026, 3, 1)
RULE = {"apiGroups": ["cert-manager.io"], "resources": ["certificates"], "verbs": ["get"]}
OBJECT = {"apiGroup": "cert-manager.io", "resource": "clusterissuers", "name": "letsencrypt", "verbs": ["get"]}
DEFINITION = {
    "apiGroup": "apiextensions.k8s.io",
    "resource": "customresourcedefinitions",
    "name": "widgets.example.com",
}
TYPES = {"serviceTypes": ["NodePort"]}
GRANTABLE = {"grantableGroups": ["cert-manager.io", "example.com"]}


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "today", lambda: TODAY)


def tenants(*grants: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"dev-team": {"grants": [{"reason": "TICKET-12"} | each for each in grants], **more}}


def test_a_grant_may_combine_rights_with_one_reason(tmp_path):
    definition = DEFINITION | {"verbs": ["get", "patch"]}
    grant = {"rules": [RULE], "clusterObjects": [OBJECT, definition], "expires": "2026-03-01", **TYPES}
    given = tenants(grant | {"exceptions": [{"policy": "allowed-images"}]})
    config = load(tmp_path, tenants=given, tenancy=GRANTABLE)

    [read] = config.tenants["dev-team"].grants
    assert (read.reason, read.expires) == ("TICKET-12", TODAY)
    assert [each.name for each in read.cluster_objects] == ["letsencrypt", "widgets.example.com"]


REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("reason", TYPES | {"reason": " "}, "' ' must not be empty"),
    ("", {}, "grants nothing; add one of these: rules, clusterObjects, serviceTypes, exceptions"),
    ("expires", TYPES | {"expires": "soon"}, "'soon' is not a date"),
    ("expires", TYPES | {"expires": "2026-02-28"}, "'2026-02-28' has passed (today is 2026-03-01)"),
    *(
        ("rules[0].apiGroups[0]", {"rules": [RULE | {"apiGroups": [group]}]}, f"'{group}' belongs to {owner}")
        for group, owner in {
            "": "Kubernetes",
            "apps": "Kubernetes",
            "rbac.authorization.k8s.io": "Kubernetes",
            "networking.k8s.io": "Kubernetes",
            "kustomize.toolkit.fluxcd.io": "Flux",
            "policies.kyverno.io": "Kyverno",
            "cilium.io": "the cluster's network",
            "capsule.clastix.io": "Capsule",
            "projectcapsule.dev": "Capsule",
            "crd.antrea.io": "the cluster's network",
            "k8s.ovn.org": "the cluster's network",
            "policy.networking.k8s.io": "the cluster's network",
            "crd.projectcalico.org": "the cluster's network",
            "gateway.fluxcd.controlplane.io": "Flux",
            "wgpolicyk8s.io": "Kyverno",
            "openreports.io": "Kyverno",
            "templates.gatekeeper.sh": "Gatekeeper",
        }.items()
    ),
    *(
        ("rules[0].apiGroups[0]", {"rules": [RULE | {"apiGroups": [group]}]}, f"'{group}' is not an API group")
        for group in ("*", "cert-manager.io/v1", "Cert-Manager.io", "*.example.com")
    ),
    ("rules[0].resources[0]", {"rules": [RULE | {"resources": ["*"]}]}, "'*' is not the plural name of a resource"),
    ("rules[0].resources[0]", {"rules": [RULE | {"resources": ["*/status"]}]}, "'*/status' is not the plural"),
    ("rules[0].resources", {"rules": [RULE | {"resources": []}]}, "must not be empty"),
    *(
        ("rules[0].verbs[0]", {"rules": [RULE | {"verbs": [verb]}]}, f"'{verb}' is not one of")
        for verb in ("*", "bind", "escalate", "impersonate")
    ),
    ("rules[0].resourceNames", {"rules": [RULE | {"resourceNames": ["a"]}]}, "is an unknown key"),
    *(
        (
            "clusterObjects[0].verbs[0]",
            {"clusterObjects": [OBJECT | {"verbs": [verb]}]},
            f"'{verb}' is not one of",
        )
        for verb in ("create", "list", "watch", "deletecollection", "*")
    ),
    ("clusterObjects[0].name", {"clusterObjects": [OBJECT | {"name": "*"}]}, "'*' is not the name of an object"),
    *(
        (
            "clusterObjects[0].apiGroup",
            {"clusterObjects": [OBJECT | {"apiGroup": group, "resource": resource}]},
            f"'{group}' belongs to Kubernetes",
        )
        for group, resource in (
            ("", "namespaces"),
            ("rbac.authorization.k8s.io", "clusterroles"),
            ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
            ("certificates.k8s.io", "certificatesigningrequests"),
            ("apiextensions.k8s.io", "customresourcedefinitions/status"),
        )
    ),
    (
        "clusterObjects[0].name",
        {"clusterObjects": [DEFINITION | {"name": "kustomizations.kustomize.toolkit.fluxcd.io", "verbs": ["patch"]}]},
        "'kustomizations.kustomize.toolkit.fluxcd.io' defines a kind of Flux",
    ),
    (
        "clusterObjects[0].verbs[1]",
        {"clusterObjects": [DEFINITION | {"verbs": ["get", "delete"]}]},
        "'delete' would delete every object of this kind",
    ),
    ("serviceTypes[0]", {"serviceTypes": ["Nodeport"]}, "'Nodeport' is not one of"),
    *(
        ("exceptions[0].policy", {"exceptions": [{"policy": policy}]}, f"'{policy}' is not one of")
        for policy in ("host-access", "tenant-access", "service-exposure", "unknown")
    ),
    (
        "exceptions[0].names[0]",
        {"exceptions": [{"policy": "allowed-images", "names": ["a b"]}]},
        "'a b' is not the name",
    ),
)


@pytest.mark.parametrize(("key", "grant", "message"), REFUSED)
def test_what_cannot_be_granted_is_one_error_with_its_key(tmp_path, key, grant, message):
    [problem] = problems(tmp_path, tenants=tenants(grant), tenancy=GRANTABLE)

    path = ".".join(filter(None, ("tenants.dev-team.grants[0]", key)))
    assert problem.startswith(f"Pulumi.staging.yaml: {path}: {message}")


RULES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("rules[0].apiGroups[0]", {"rules": [RULE]}, "cert-manager.io"),
    ("clusterObjects[0].apiGroup", {"clusterObjects": [OBJECT]}, "cert-manager.io"),
    ("clusterObjects[0].name", {"clusterObjects": [DEFINITION | {"verbs": ["patch"]}]}, "example.com"),
)


@pytest.mark.parametrize(("key", "grant", "group"), RULES)
def test_only_groups_that_the_stack_lists_can_be_granted(tmp_path, key, grant, group):
    [problem] = problems(tmp_path, tenants=tenants(grant), tenancy={"grantableGroups": ["acme.dev"]})

    path = f"Pulumi.staging.yaml: tenants.dev-team.grants[0].{key}: '{group}'"
    assert problem.startswith(f"{path} is not in tenancy.grantableGroups")
    assert problem.endswith(f"add to the tenancy section: `grantableGroups: [acme.dev, {group}]`")


@pytest.mark.parametrize("group", ["rbac.authorization.k8s.io", "policies.kyverno.io", "capsule.clastix.io", "*"])
def test_a_group_that_decides_what_tenants_may_do_cannot_be_listed(tmp_path, group):
    [problem] = problems(tmp_path, tenancy={"grantableGroups": [group]})

    assert problem.startswith(f"Pulumi.staging.yaml: tenancy.grantableGroups[0]: '{group}' ")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"apiGroups": ["acme.dev"]}, "'acme.dev' is not in tenancy.grantableGroups"),
        ({"apiGroups": ["capsule.clastix.io"]}, "'capsule.clastix.io' belongs to Capsule"),
        ({"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"]}, "'' belongs to Kubernetes"),
        ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["get"]}, "'*' is not an API group"),
    ],
)
def test_rules_for_all_tenants_are_held_to_the_same_list(tmp_path, rule, message):
    [problem] = problems(tmp_path, tenancy=GRANTABLE | {"extraRules": [RULE | {"verbs": ["create"]} | rule]})

    assert problem.startswith(f"Pulumi.staging.yaml: tenancy.extraRules[0].apiGroups[0]: {message}")


@pytest.mark.parametrize(
    "rule",
    [
        RULE | {"verbs": ["*"]},
        {"apiGroups": ["wgpolicyk8s.io"], "resources": ["policyreports"], "verbs": ["get", "list", "watch"]},
    ],
    ids=["of a listed group", "that only reads"],
)
def test_rules_for_all_tenants_may_be_about_listed_groups_and_read_others(tmp_path, rule):
    assert load(tmp_path, tenancy=GRANTABLE | {"extraRules": [rule]}).tenancy.extra_rules


def test_a_grant_of_the_base_file_is_reported_there(tmp_path):
    base = f"{DEV_TEAM_BASE}grants:\n  - {{reason: TICKET-12, expires: 2026-02-28, serviceTypes: [NodePort]}}\n"

    [problem] = problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": {}})

    assert problem.startswith("tenants/dev-team.yaml: grants[0].expires: '2026-02-28' has passed")


def test_a_grant_of_a_tenant_that_is_leaving_expires_too(tmp_path):
    [problem] = problems(tmp_path, tenants=tenants(TYPES | {"expires": "2026-02-28"}, state="leaving"))

    assert problem.startswith("Pulumi.staging.yaml: tenants.dev-team.grants[0].expires: '2026-02-28' has passed")


@pytest.mark.parametrize(("expires", "warned"), [("2026-03-01", True), ("2026-03-15", True), ("2026-03-16", False)])
def test_a_grant_is_warned_about_two_weeks_before_it_stops_updates(tmp_path, expires, warned):
    config = load(tmp_path, tenants=tenants(TYPES, TYPES | {"expires": expires}))

    said = [(message.code, "grants[1]" in message, expires in message) for message in expiring_grants(config)]

    assert said == ([("FT-TEN-411", True, True)] if warned else [])


def test_one_object_of_a_namespaced_resource_is_an_error(tmp_path):
    config = load(
        tmp_path, tenants=tenants({"clusterObjects": [OBJECT, OBJECT | {"resource": "issuers"}]}), tenancy=GRANTABLE
    )
    kinds = [NamespacedKind("Issuer", "/apis/cert-manager.io/v1", "issuers"), NamespacedKind("Pod", "/api/v1", "pods")]

    [problem] = namespaced_objects(config, lambda: kinds, "Pulumi.staging.yaml")

    assert (problem.path, problem.code) == ("tenants.dev-team.grants[0].clusterObjects[1].resource", "FT-TEN-410")


def test_the_kinds_of_the_cluster_are_read_only_for_a_grant_of_one_object(tmp_path):
    assert namespaced_objects(load(tmp_path, tenants=tenants(TYPES)), pytest.fail, "Pulumi.staging.yaml") == []
