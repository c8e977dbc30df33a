"""How statements become sentences: the same for many said once, in an order that begins with what widens most."""

from __future__ import annotations

import io
import json
import random
import re

import pytest
from rich.console import Console
from sample_access import TENANTS, binding, of, render, role, rule, user

from flux_tenancy.components.rbac.rights import CLUSTER
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind
from flux_tenancy.review.access.rights import AccessChange, access_changes, join
from flux_tenancy.review.access.rules import ANYWHERE, LABELED, Tenants
from flux_tenancy.review.access.summary import as_json, as_table, who_may_what
from flux_tenancy.review.render.rendered import PLATFORM, Render, RenderedObject
from flux_tenancy.review.words import counted

NAMES = ("a", "b", "c", "d", "e", "f", "g")


def tenants(**namespaces):
    """Tenants with these namespaces, separated by spaces."""
    return Tenants({each: name for name, names in namespaces.items() for each in names.split()}, {})


def tenant(name):
    return Subject(SubjectKind.TENANT, name)


def account(name, namespace="flux-system"):
    return Subject(SubjectKind.ACCOUNT, name, namespace)


def said(statements, found, everyone=None):
    joined = join(statements, found, set(found.by_name) if everyone is None else everyone)
    return [f"{each.text} on staging" for each in joined]


def may(subject, place, words="may now read Pods", **keys):
    return AccessChange(words, keys.pop("widened", True), keys.pop("high", False), subject, place, **keys)


def test_the_places_of_a_subject_are_one_sentence():
    found = tenants(shop="shop shop-qa other", bank="bank")

    assert said([may(tenant("shop"), "shop"), may(tenant("shop"), "shop-qa")], found) == [
        "shop may now read Pods in shop and shop-qa on staging"
    ]


def test_a_single_tenant_is_told_with_its_namespaces():
    assert said([may(tenant("shop"), "shop")], tenants(shop="shop", bank="bank")) == [
        "shop may now read Pods in shop on staging"
    ]


def test_tenants_that_may_the_same_in_their_namespaces_are_one_sentence():
    found = tenants(shop="shop shop-qa", bank="bank", other="other")
    places = [("shop", "shop"), ("shop", "shop-qa"), ("bank", "bank")]

    assert said([may(tenant(name), place) for name, place in places], found) == [
        "bank and shop may now read Pods in their namespaces on staging"
    ]


@pytest.mark.parametrize(("count", "who"), [(2, "Both tenants"), (3, "All 3 tenants"), (7, "All 7 tenants")])
def test_all_tenants_are_told_as_all(count, who):
    names = NAMES[:count]

    assert said([may(tenant(name), name) for name in names], tenants(**{name: name for name in names})) == [
        f"{who} may now read Pods in their namespaces on staging"
    ]


def test_many_tenants_that_are_not_all_are_counted():
    found = tenants(**{name: name for name in (*NAMES, "z")})

    assert said([may(tenant(name), name) for name in NAMES], found) == [
        "a, b, c, d, e and 2 more tenants may now read Pods in their namespaces on staging"
    ]


def test_a_tenant_in_only_some_of_its_namespaces_has_its_own_sentence():
    found = tenants(shop="shop shop-qa", bank="bank")

    assert said([may(tenant("shop"), "shop"), may(tenant("bank"), "bank")], found) == [
        "bank may now read Pods in bank on staging",
        "shop may now read Pods in shop on staging",
    ]


def test_an_account_with_the_name_of_a_tenant_is_no_tenant():
    found = tenants(shop="shop", bank="bank")

    assert said([may(account(name), name) for name in ("shop", "bank")], found) == [
        "flux-system/bank may now read Pods in bank on staging",
        "flux-system/shop may now read Pods in shop on staging",
    ]
    assert said([may(account("shop"), "shop"), may(tenant("shop"), "shop")], found) == [
        "shop may now read Pods in shop on staging",
        "flux-system/shop may now read Pods in shop on staging",
    ]


def test_several_have_what_one_has():
    words = {"words": "gains the role x"}

    assert said([may(tenant("shop"), "shop", **words)], tenants(shop="shop")) == [
        "shop gains the role x in shop on staging"
    ]
    assert said([may(account("x"), "shop", **words), may(account("y"), "shop", **words)], tenants()) == [
        "flux-system/x and flux-system/y gain the role x in shop on staging"
    ]
    gone = {"words": "loses the role x", "widened": False}
    assert said([may(account("x"), "shop", **gone), may(account("y"), "shop", **gone)], tenants()) == [
        "flux-system/x and flux-system/y lose the role x in shop on staging"
    ]


def test_targets_are_joined_over_places():
    words = {"words": "may now impersonate"}
    statements = [may(account("x"), name, **words, target=f"{name}/{name}") for name in ("a", "b")]

    assert said(statements, tenants(a="a", b="b")) == ["flux-system/x may now impersonate a/a and b/b on staging"]


def test_tenants_onboarded_by_label_are_told_as_what_they_are():
    found = Tenants({"shop": "shop", LABELED: LABELED}, {})

    assert said([may(tenant(LABELED), LABELED)], found) == [
        "Tenants onboarded by label may now read Pods in their namespaces on staging"
    ]
    assert said([may(tenant(LABELED), LABELED, words="gains the role x")], found) == [
        "Tenants onboarded by label gain the role x in their namespaces on staging"
    ]
    assert said([may(tenant(LABELED), LABELED), may(tenant("shop"), "shop")], found) == [
        "All tenants may now read Pods in their namespaces on staging"
    ]
    assert said([may(account("x"), LABELED), may(account("x"), "shop")], found) == [
        "flux-system/x may now read Pods in shop and the namespaces of tenants onboarded by label on staging"
    ]


def test_everyone_with_a_role_is_told_without_a_place():
    roles = [Subject(SubjectKind.ROLE, name) for name in ("edit", "admin")]

    assert said([may(each, ANYWHERE) for each in roles], tenants()) == [
        "Everyone with Kubernetes' role admin or edit may now read Pods on staging"
    ]


def test_the_order_is_widened_high_cluster_many_and_then_by_name_whatever_the_order_of_statements():
    found = tenants(a="a", b="b", c="c")
    statements = [
        may(account("x"), CLUSTER, "may now read Nodes", high=True),
        may(account("x"), "a", "may now read Secrets", high=True),
        may(account("x"), CLUSTER, "may now read Leases"),
        *(may(tenant(name), name, "may now read Events") for name in "abc"),
        may(tenant("a"), "a", "may now read ConfigMaps"),
        may(tenant("b"), "b", "may now read Pods"),
        may(tenant("a"), "a", "may no longer read Jobs", widened=False),
    ]
    expected = said(statements, found)

    assert [next(kind for kind in KINDS if kind in line) for line in expected] == list(KINDS)
    for seed in range(5):
        shuffled = random.Random(seed).sample(statements, len(statements))
        assert said(shuffled, found) == expected


KINDS = ("Nodes", "Secrets", "Leases", "Events", "ConfigMaps", "Pods", "Jobs")


@pytest.mark.parametrize(
    ("statements", "owner"),
    [
        ([may(tenant("shop"), "shop")], "shop"),
        ([may(tenant("shop"), "shop"), may(tenant("bank"), "bank")], PLATFORM),
        ([may(tenant("shop"), CLUSTER)], "shop"),
        ([may(account("x"), "shop")], "shop"),
        ([may(account("x"), "shop", target="shop/shop")], "shop"),
        ([may(account("x"), "shop"), may(account("x"), "bank")], PLATFORM),
        ([may(account("x"), "elsewhere")], PLATFORM),
        ([may(account("x"), CLUSTER)], PLATFORM),
        ([may(tenant(LABELED), LABELED)], PLATFORM),
    ],
    ids=str,
)
def test_the_owner_is_the_only_tenant_that_a_sentence_is_about(statements, owner):
    [joined] = join(statements, Tenants({"shop": "shop", "bank": "bank", LABELED: LABELED}, {}), ["shop", "bank"])

    assert joined.owner == owner


def test_what_is_narrowed_is_no_high_risk():
    [joined] = join(
        [may(tenant("a"), "a", "may no longer read Secrets", widened=False, high=True)], tenants(a="a"), "a"
    )

    assert (joined.risk, joined.text) == (False, "a may no longer read Secrets in a")


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b and 2 more things"),
    ],
)
def test_a_list_counts_what_is_too_much(items, text):
    assert counted(items, "things", most=2) == text


def test_a_new_stack_widens_and_one_that_is_removed_narrows():
    added = access_changes(None, render())
    removed = access_changes(render(), None)

    roles = "the role flux-tenancy-tenant in their namespaces"
    assert f"Both tenants gain {roles}" in [each.text for each in added]
    assert f"Both tenants lose {roles}" in [each.text for each in removed]
    assert access_changes(None, None) == ()


def test_all_tenants_of_a_removal_are_those_that_stay():
    """A tenant that leaves with the change does not turn `all tenants` into a list of names."""
    shop = TENANTS | {"shop": {"namespaces": [{"name": "shop"}]}}
    reading = {"extraRules": [rule("get", "widgets", "example.com")]}
    found = [each.text for each in access_changes(render(shop, tenancy=reading), render())]

    assert "Both tenants may no longer get widgets.example.com in their namespaces" in found


@pytest.mark.parametrize("kind", ["RepositoryDeployKey", "Deployment"])
def test_objects_outside_of_the_cluster_have_no_part_in_it(kind):
    found = {"kind": kind, "metadata": {"name": "flux"}, "properties": {"readOnly": False}}
    outside = Render("production", (RenderedObject("shop", f"github:index:{kind}", "flux", found),), "")

    assert access_changes(outside, outside) == access_changes(of(), outside) == ()


TENANT_ROLE = "flux-tenancy-tenant"


def shown(found):
    written = io.StringIO()
    console = Console(width=160, file=written)
    console.print(as_table(found))
    return written.getvalue()


def test_subjects_have_their_rights_with_place_and_risk():
    reader = role("reader", rule("get list watch", "pods"))
    bindings = [binding("reader", [user("alice")], "apps"), binding("cluster-admin", [user("bob")], name="admin")]

    assert who_may_what(of(reader, *bindings)).rights == [
        ("user bob", "may do everything (cluster-admin)", "in the whole cluster", "high"),
        ("user alice", "may read pods", "in apps", "normal"),
    ]


def test_a_role_that_is_told_by_its_name_is_explained():
    found = who_may_what(render())

    assert ("Both tenants", f"have the role {TENANT_ROLE}", "in their namespaces", "normal") in found.rights
    assert "read, write alerts, artifactgenerators" in found.roles[TENANT_ROLE]
    assert "controllers" not in found.roles  # It has few resources, so its rights are told themselves.


def test_what_the_policies_leave_to_tenants_is_a_table_of_settings():
    found = who_may_what(render(policies={"serviceTypes": ["ClusterIP", "NodePort"], "finalizers": ["example.com/x"]}))

    assert ("serviceTypes", "ClusterIP, NodePort", "apps and tools") in found.settings
    assert ("maximumTimeout", "1h", "apps and tools") in found.settings
    assert ("finalizers", "example.com/x", "apps and tools") in found.settings
    assert not [row for row in found.settings if row[0] in ("priorityClasses", "volumeTypes")]


def test_policies_that_refuse_nothing_are_listed():
    found = who_may_what(render(policies={"modes": {"service-exposure": "audit"}}))

    assert found.modes == {"service-exposure": "audit"}


def test_a_single_tenant_has_its_own_rows_and_those_of_others_in_its_namespaces():
    exceptions = {"dev-team": {"policies": {"sources": ["https://git.example.com/dev-team/*"]}}}
    found = who_may_what(render(TENANTS | exceptions, {"sources": {"allowed": []}}), "dev-team")

    assert ("dev-team", f"has the role {TENANT_ROLE}", "in apps", "normal") in found.rights
    assert ("sources.allowed", "https://git.example.com/dev-team/*", "apps") in found.settings
    assert {where for _, _, where, _ in found.rights} == {"in apps", "in the whole cluster", ""}
    assert "tools" not in shown(found) and "ops-team" not in shown(found)
    assert [may for _, may, *_ in found.rights if "impersonate" in may] == [
        "may impersonate apps/default and apps/dev-team"
    ]


def test_the_table_shows_names_as_they_are():
    found = shown(who_may_what(of(binding("view", [user("[red]alice[/red]")], "apps"))))

    assert re.search(r"who +may +where +risk", found)
    assert "user [red]alice[/red]" in found
    assert "Kubernetes' role view" in found


def test_json_has_what_the_table_has():
    found = json.loads(as_json(who_may_what(render(policies={"modes": {"service-exposure": "audit"}}))))

    assert set(found) == {"rights", "roles", "settings", "modes"}
    assert set(found["rights"][0]) == {"who", "may", "where", "risk"}
    assert found["modes"] == {"service-exposure": "audit"}
