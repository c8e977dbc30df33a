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
        ([rule("get list watch", "pods")], "+  user alice may now read Pods"),
        ([rule("create update patch delete", "pods")], "+  user alice may now write Pods"),
        ([rule("create update patch delete deletecollection", "pods")], "+  user alice may now write Pods"),
        (
            [rule("get list watch deletecollection", "pods")],
            "+  user alice may now read and deletecollection Pods",
        ),
        ([rule("deletecollection", "pods")], "+  user alice may now deletecollection Pods"),
        (
            [rule("get list watch create update patch delete", "pods")],
            "+  user alice may now read and write Pods",
        ),
        ([rule("patch get", "pods")], "+  user alice may now get and patch Pods"),
        ([rule("get list watch update", "pods")], "+  user alice may now read and update Pods"),
        ([rule("get", "pods/log serviceaccounts")], "+  user alice may now get ServiceAccounts and logs of Pods"),
        ([rule("get", "pods"), rule("patch", "services")], "+  user alice may now get Pods; patch Services"),
        ([rule("get", "pods", "example.com")], "+  user alice may now get pods.example.com"),
        ([rule("get", "things", "apps")], "+  user alice may now get things"),
        ([rule("get", "secrets", names="one")], "+! user alice may now get Secrets named one"),
        ([rule("get", "secrets")], "+! user alice may now get Secrets"),
        ([rule("create", "serviceaccounts/token")], "+! user alice may now create tokens of ServiceAccounts"),
        ([rule("get", "*")], "+! user alice may now get everything in the API group core"),
        (
            [rule("get", "*", "apps"), rule("get", "*", "batch")],
            "+! user alice may now get everything in the API groups apps and batch",
        ),
        ([rule("*", "*", "apps")], "+! user alice may now do everything in the API group apps"),
        ([rule("get", "*", "*")], "+! user alice may now get everything"),
        ([rule("*", "*", "*")], "+! user alice may now do everything"),
        ([rule("*", "pods")], "+! user alice may now do anything with Pods"),
        ([rule("get", "pods", "*")], "+! user alice may now get pods.*"),
        ([rule("escalate", "roles", RBAC)], "+! user alice may now escalate Roles"),
        (
            [rule("impersonate:serviceaccount", "serviceaccounts", "authentication.k8s.io")],
            "+! user alice may now impersonate:serviceaccount ServiceAccounts",
        ),
        ([rule("bind", "roles", RBAC)], "+! user alice may now bind Roles"),
        ([rule("impersonate", "users")], "+! user alice may now impersonate users"),
    ],
    ids=str,
)
def test_rights_are_worded_for_people_and_some_are_a_high_risk(rules, sentence):
    assert given(rules) == [f"{sentence} in apps on production"]


def test_high_risks_are_told_apart_from_the_rest():
    assert given([rule("get", "secrets pods")]) == [
        "+! user alice may now get Secrets in apps on production",
        "+  user alice may now get Pods in apps on production",
    ]


def test_any_right_in_the_whole_cluster_is_a_high_risk():
    assert given([rule("get", "pods")], namespace="") == [
        "+! user alice may now get Pods in the whole cluster on production"
    ]


def test_a_url_is_named_as_one():
    assert given([{"nonResourceURLs": ["/livez"], "verbs": ["get"]}], namespace="") == [
        "+! user alice may now get the URL /livez in the whole cluster on production"
    ]


@pytest.mark.parametrize("name", EVERYBODY)
def test_any_right_of_everybody_is_a_high_risk(name):
    assert given([rule("get", "pods")], subject=group(name)) == [
        f"+! group {name} may now get Pods in apps on production"
    ]


def test_a_user_with_the_name_of_such_a_group_is_one_user():
    assert given([rule("get", "pods")], subject=user("system:authenticated")) == [
        "+  user system:authenticated may now get Pods in apps on production"
    ]


def test_rights_of_a_group_of_some_are_no_high_risk_by_themselves():
    assert given([rule("get", "pods")], subject=group("support")) == [
        "+  group support may now get Pods in apps on production"
    ]


def test_an_account_that_may_be_impersonated_is_named_with_its_namespace():
    named = [rule("impersonate", "serviceaccounts", names="one two")]

    assert given(named, subject=account("flux", "flux-system")) == [
        "+! flux-system/flux may now impersonate apps/one and apps/two on production"
    ]
    assert given([rule("impersonate", "serviceaccounts")]) == [
        "+! user alice may now impersonate every service account of apps on production"
    ]
    assert given([rule("impersonate", "serviceaccounts")], namespace="") == [
        "+! user alice may now impersonate ServiceAccounts in the whole cluster on production"
    ]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("view", "+  user alice now has Kubernetes' role view in apps on production"),
        ("edit", "+! user alice now has Kubernetes' role edit in apps on production"),
        ("cluster-admin", "+! user alice may now do everything (cluster-admin) in apps on production"),
        ("other", "+! user alice now has the role other, which this stack does not define, in apps on production"),
    ],
)
def test_roles_of_the_cluster_are_named(name, sentence):
    assert sentences(of(), of(binding(name, [user("alice")], "apps"))) == [sentence]


@pytest.mark.parametrize(("verbs", "hint"), [("get list watch", " (read only)"), ("get patch", "")])
def test_a_role_that_is_told_by_its_name_says_if_it_only_reads(verbs, hint):
    assert given([rule(verbs, "pods services events configmaps endpoints")]) == [
        f"+  user alice now has the role some{hint} in apps on production"
    ]


def test_secrets_of_a_namespace_that_comes_with_its_tenant_are_no_high_risk():
    shop = TENANTS | {"shop": {"namespaces": [{"name": "shop"}]}}
    own = ("+  shop now has the role flux-tenancy-tenant in shop on production",)

    assert set(sentences(render(), render(shop))).issuperset(own)


def test_secrets_of_a_tenants_namespace_that_is_there_are_a_high_risk():
    reader = [role("reader", rule("get", "secrets")), binding("reader", [user("alice")], "apps")]

    assert sentences(render(), render(more=reader)) == ["+! user alice may now get Secrets in apps on production"]


def test_what_is_lost_is_narrowed_and_no_risk():
    some, bound = role("some", rule("get", "secrets pods")), binding("some", [user("alice")], "apps")

    assert sentences(of(some, bound), of(some)) == [
        "-  user alice may no longer get Pods and Secrets in apps on production"
    ]
    assert sentences(of(binding("edit", [user("alice")], "apps")), of()) == [
        "-  user alice no longer has Kubernetes' role edit in apps on production"
    ]
