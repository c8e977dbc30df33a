"""Which rights are a high risk, and how statements about them are worded."""

from __future__ import annotations

import pytest
from sample_access import TENANTS, account, binding, group, of, render, role, rule, sentences, user

RBAC = "rbac.authorization.k8s.io"
EVERYBODY = ["system:authenticated", "system:serviceaccounts", "system:unauthenticated"]


def given(rules, namespace="apps", subject=None):
    """The sentences about a new role that is bound to a user."""
    bound = binding("some", [subject or user("alice")], namespace)
    return sentences(of(), of(role("some", *rules), bound))


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ([rule("get list watch", "pods")], "  user alice may now read pods"),
        ([rule("create update patch delete", "pods")], "  user alice may now write pods"),
        ([rule("create update patch delete deletecollection", "pods")], "  user alice may now write pods"),
        (
            [rule("get list watch deletecollection", "pods")],
            "  user alice may now read, deletecollection pods",
        ),
        ([rule("deletecollection", "pods")], "  user alice may now deletecollection pods"),
        (
            [rule("get list watch create update patch delete", "pods")],
            "  user alice may now read, write pods",
        ),
        ([rule("patch get", "pods")], "  user alice may now get, patch pods"),
        ([rule("get list watch update", "pods")], "  user alice may now read, update pods"),
        ([rule("get", "pods/log serviceaccounts")], "  user alice may now get pods/log, serviceaccounts"),
        ([rule("get", "pods"), rule("patch", "services")], "  user alice may now get pods; patch services"),
        ([rule("get", "pods", "example.com")], "  user alice may now get pods.example.com"),
        ([rule("get", "things", "apps")], "  user alice may now get things"),
        ([rule("get", "things", "apps", "one.apps")], "  user alice may now get things named one.apps"),
        ([rule("*", "*", "a.fluxcd.io")], "! user alice may now use all verbs of *.a.fluxcd.io"),
        ([rule("get", "secrets", names="one")], "! user alice may now get secrets named one"),
        ([rule("get", "secrets")], "! user alice may now get secrets"),
        ([rule("create", "serviceaccounts/token")], "! user alice may now create serviceaccounts/token"),
        ([rule("get", "*")], "! user alice may now get everything in the core API group"),
        (
            [rule("get", "*", "apps"), rule("get", "*", "batch")],
            "! user alice may now get *.apps, *.batch",
        ),
        ([rule("*", "*", "apps")], "! user alice may now use all verbs of *.apps"),
        ([rule("get", "*", "*")], "! user alice may now get everything"),
        ([rule("*", "*", "*")], "! user alice may now do everything"),
        ([rule("*", "pods")], "! user alice may now use all verbs of pods"),
        ([rule("get", "pods", "*")], "! user alice may now get pods.*"),
        ([rule("escalate", "roles", RBAC)], "! user alice may now escalate roles"),
        (
            [rule("impersonate:serviceaccount", "serviceaccounts", "authentication.k8s.io")],
            "! user alice may now impersonate:serviceaccount serviceaccounts",
        ),
        ([rule("bind", "roles", RBAC)], "! user alice may now bind roles"),
        ([rule("impersonate", "users")], "! user alice may now impersonate users"),
    ],
    ids=str,
)
def test_rights_are_worded_for_people_and_some_are_a_high_risk(rules, sentence):
    assert given(rules) == [f"{sentence} in apps"]


def test_high_risks_are_told_apart_from_the_rest():
    assert given([rule("get", "secrets pods")]) == [
        "! user alice may now get secrets in apps",
        "  user alice may now get pods in apps",
    ]


PODS, IMPERSONATE = [rule("get", "pods")], [rule("impersonate", "serviceaccounts")]


@pytest.mark.parametrize(
    ("rules", "namespace", "subject", "sentence"),
    [
        (PODS, "", user("alice"), "! user alice may now get pods in the whole cluster"),
        (
            [{"nonResourceURLs": ["/livez"], "verbs": ["get"]}],
            "",
            user("alice"),
            "! user alice may now get /livez in the whole cluster",
        ),
        *((PODS, "apps", group(each), f"! group {each} may now get pods in apps") for each in EVERYBODY),
        (PODS, "apps", user(EVERYBODY[0]), "  user system:authenticated may now get pods in apps"),
        (PODS, "apps", group("support"), "  group support may now get pods in apps"),
        (
            [rule("impersonate", "serviceaccounts", names="one two")],
            "apps",
            account("flux", "flux-system"),
            "! flux-system/flux may now impersonate apps/one and apps/two",
        ),
        (IMPERSONATE, "apps", user("alice"), "! user alice may now impersonate every service account of apps"),
        (IMPERSONATE, "", user("alice"), "! user alice may now impersonate serviceaccounts in the whole cluster"),
    ],
    ids=lambda each: each.strip("! ") if isinstance(each, str) and " " in each else "",
)
def test_any_right_in_the_whole_cluster_or_of_everybody_is_a_high_risk(rules, namespace, subject, sentence):
    assert given(rules, namespace, subject) == [sentence]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("view", "  user alice gains Kubernetes' role view in apps"),
        ("edit", "! user alice gains Kubernetes' role edit in apps"),
        ("cluster-admin", "! user alice may now do everything (cluster-admin) in apps"),
        ("other", "! user alice gains the role other, which this stack does not define, in apps"),
    ],
)
def test_roles_of_the_cluster_are_named(name, sentence):
    assert sentences(of(), of(binding(name, [user("alice")], "apps"))) == [sentence]


@pytest.mark.parametrize(("verbs", "hint"), [("get list watch", " (read only)"), ("get patch", "")])
def test_a_role_that_is_told_by_its_name_says_if_it_only_reads(verbs, hint):
    assert given([rule(verbs, "pods services events configmaps endpoints")]) == [
        f"  user alice gains the role some{hint} in apps"
    ]


def test_secrets_of_a_namespace_that_comes_with_its_tenant_are_no_high_risk():
    shop = TENANTS | {"shop": {"namespaces": [{"name": "shop"}]}}
    own = ("  shop gains the role flux-tenancy-tenant in shop",)

    assert set(sentences(render(), render(shop))).issuperset(own)


def test_secrets_of_a_tenants_namespace_that_is_there_are_a_high_risk():
    reader = [role("reader", rule("get", "secrets")), binding("reader", [user("alice")], "apps")]

    assert sentences(render(), render(more=reader)) == ["! user alice may now get secrets in apps"]


def test_what_is_lost_is_narrowed_and_no_risk():
    some, bound = role("some", rule("get", "secrets pods")), binding("some", [user("alice")], "apps")

    assert sentences(of(some, bound), of(some)) == ["  user alice may no longer get pods, secrets in apps"]
    assert sentences(of(binding("edit", [user("alice")], "apps")), of()) == [
        "  user alice loses Kubernetes' role edit in apps"
    ]
