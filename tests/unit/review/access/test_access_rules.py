"""Rights by RBAC: what roles and bindings of a render allow, and which rights include others."""

from __future__ import annotations

from copy import deepcopy

import pytest
from sample_access import account, binding, flux_edit, group, of, render, role, rule, sentences, user
from sample_plan import tenant_objects
from sample_stack import KYVERNO, tenant_config

from flux_tenancy.components.installs.kyverno import KyvernoConfig, helm_values
from flux_tenancy.components.rbac.rights import CLUSTER, EVERYTHING, NamedRole, Permission, covers
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind
from flux_tenancy.components.tenant.config import TenancyConfig
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.review.access.rules import LABELED, rbac_access
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject

ALICE = Subject(SubjectKind.USER, "alice")
RBAC = "rbac.authorization.k8s.io"
NAMESPACE: Manifest = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "apps", "labels": {"toolkit.fluxcd.io/tenant": "dev-team"}},
}


def rights(*manifests, subject=ALICE, place=CLUSTER):
    return rbac_access(of(*manifests).objects).of(subject, place).rights


@pytest.mark.parametrize(
    ("one", "other", "includes"),
    [
        (Permission("get", "", "pods"), Permission("get", "", "pods"), True),
        (Permission("get", "", "pods"), Permission("list", "", "pods"), False),
        (Permission("*", "", "pods"), Permission("list", "", "pods"), True),
        (Permission("get", "*", "pods"), Permission("get", "metrics.k8s.io", "pods"), True),
        (Permission("get", "", "pods"), Permission("get", "metrics.k8s.io", "pods"), False),
        (Permission("get", "", "*"), Permission("get", "", "pods/log"), True),
        (Permission("get", "", "pods"), Permission("get", "", "pods/log"), False),
        (Permission("get", "apps", "*/scale"), Permission("get", "apps", "deployments/scale"), True),
        (Permission("get", "apps", "*/scale"), Permission("get", "apps", "deployments"), False),
        (Permission("get", "apps", "*/scale"), Permission("get", "apps", "deployments/status"), False),
        (Permission("get", "", "secrets"), Permission("get", "", "secrets", "one"), True),
        (Permission("get", "", "secrets", "one"), Permission("get", "", "secrets"), False),
        (Permission("get", "", "secrets", "one"), Permission("get", "", "secrets", "two"), False),
        (Permission("get", "", "/metrics/*"), Permission("get", "", "/metrics/pods"), True),
        (Permission("get", "", "/metrics"), Permission("get", "", "/metrics/pods"), False),
        (Permission("post", "", "/metrics/*"), Permission("get", "", "/metrics/pods"), False),
        (EVERYTHING, Permission("get", "", "/metrics"), False),
        (Permission("get", "", "/*"), Permission("get", "", "pods"), False),
        (NamedRole("cluster-admin"), Permission("get", "", "/metrics"), True),
        (NamedRole("cluster-admin"), NamedRole("of-somebody-else"), True),
        (NamedRole("admin"), NamedRole("edit"), True),
        (NamedRole("edit"), NamedRole("admin"), False),
        (NamedRole("of-somebody-else"), NamedRole("view"), False),
        (NamedRole("admin"), NamedRole("of-somebody-else"), False),
        (NamedRole("of-somebody-else"), NamedRole("of-somebody-else"), True),
        (NamedRole("view"), Permission("get", "", "pods"), True),
        (NamedRole("view"), Permission("get", "", "secrets"), False),
        (NamedRole("view"), Permission("delete", "", "pods"), False),
        (NamedRole("edit"), Permission("get", "", "secrets"), True),
        (NamedRole("edit"), Permission("create", RBAC, "rolebindings"), False),
        (NamedRole("admin"), Permission("create", RBAC, "rolebindings"), True),
        (NamedRole("admin"), Permission("create", "", "resourcequotas"), False),
        (NamedRole("admin"), Permission("get", "cert-manager.io", "certificates"), False),
        (EVERYTHING, NamedRole("cluster-admin"), True),
        (Permission("get", "", "pods"), NamedRole("view"), False),
    ],
    ids=str,
)
def test_a_right_includes_what_kubernetes_allows_with_it(one, other, includes):
    assert covers(one, other) is includes


def test_a_binding_grants_each_verb_on_each_resource_of_each_group_of_its_role():
    read = role("reader", rule("get list", "pods services"))

    assert rights(read, binding("reader", [user("alice")])) == {
        Permission(verb, "", resource) for verb in ("get", "list") for resource in ("pods", "services")
    }


def test_the_names_of_objects_limit_a_right():
    only = role("reader", rule("get", "secrets", names="one two"))

    assert rights(only, binding("reader", [user("alice")])) == {
        Permission("get", "", "secrets", "one"),
        Permission("get", "", "secrets", "two"),
    }


def test_urls_are_granted_by_bindings_of_the_whole_cluster_only():
    probing = role("prober") | {"rules": [{"nonResourceURLs": ["/livez", "*"], "verbs": ["get"]}]}

    assert rights(probing, binding("prober", [user("alice")])) == {
        Permission("get", "", "/livez"),
        Permission("get", "", "/*"),
    }
    assert rights(probing, binding("prober", [user("alice")], "apps"), place="apps") == set()


def test_an_aggregated_role_has_the_rules_of_the_roles_that_it_selects_and_none_of_its_own():
    parts = [
        role("pods", rule("get", "pods"), labels={"part": "yes", "of": "reader"}),
        role("secrets", rule("get", "secrets"), labels={"part": "no", "of": "reader"}),
        role("nodes", rule("get", "nodes"), labels={"part": "yes"}),
        role("events", rule("get", "events"), labels={"of": "reader"}),
    ]
    aggregated = role("reader", rule("delete", "pods")) | {
        "aggregationRule": {
            "clusterRoleSelectors": [
                {"matchLabels": {"part": "yes"}, "matchExpressions": [{"key": "of", "operator": "Exists"}]},
                {
                    "matchExpressions": [
                        {"key": "of", "operator": "In", "values": ["reader"]},
                        {"key": "part", "operator": "DoesNotExist"},
                    ]
                },
            ]
        }
    }

    found = rights(*parts, aggregated, binding("reader", [user("alice")]))

    assert found == {Permission("get", "", "pods"), Permission("get", "", "events")}


def test_a_selector_excludes_values():
    selector = {"matchExpressions": [{"key": "part", "operator": "NotIn", "values": ["no"]}]}
    aggregated = role("reader") | {"aggregationRule": {"clusterRoleSelectors": [selector]}}
    parts = [
        role(part, rule("get", resource), labels={"part": part})
        for part, resource in (("yes", "pods"), ("no", "secrets"))
    ]

    assert rights(*parts, aggregated, binding("reader", [user("alice")])) == {Permission("get", "", "pods")}


@pytest.mark.parametrize("name", ["view", "edit", "admin", "cluster-admin", "of-somebody-else"])
def test_a_role_that_the_stack_does_not_define_is_told_by_its_name(name):
    assert rights(binding(name, [user("alice")])) == {NamedRole(name)}


def test_a_role_of_a_namespace_is_another_than_the_cluster_role_of_that_name():
    roles = [role("own", rule("get", "pods"), namespace="apps"), role("own", rule("get", "secrets"))]
    here = binding("own", [user("alice")], "apps", kind="Role")
    of_cluster = binding("own", [user("alice")], "apps")

    assert rights(*roles, here, place="apps") == {Permission("get", "", "pods")}
    assert rights(*roles, of_cluster, place="apps") == {Permission("get", "", "secrets")}


def test_rights_of_several_bindings_add_up():
    roles = [role("pods", rule("get", "pods")), role("nodes", rule("get", "nodes"))]
    bindings = [binding(name, [user("alice")], name=name) for name in ("pods", "nodes")]

    assert rights(*roles, *bindings) == {Permission("get", "", "pods"), Permission("get", "", "nodes")}


@pytest.mark.parametrize(
    ("subject", "found"),
    [
        (account("dev-team"), Subject(SubjectKind.TENANT, "dev-team")),
        (user("system:serviceaccount:apps:dev-team"), Subject(SubjectKind.TENANT, "dev-team")),
        ({"kind": "ServiceAccount", "name": "dev-team"}, Subject(SubjectKind.TENANT, "dev-team")),
        (account("other"), Subject(SubjectKind.ACCOUNT, "other", "apps")),
        (account("dev-team", "elsewhere"), Subject(SubjectKind.ACCOUNT, "dev-team", "elsewhere")),
        (group("system:serviceaccounts:apps"), Subject(SubjectKind.GROUP, "system:serviceaccounts:apps")),
        (user("alice"), ALICE),
    ],
    ids=str,
)
def test_a_tenant_is_the_account_that_flux_impersonates_for_it(subject, found):
    given = rbac_access(of(NAMESPACE, binding("view", [subject], "apps")).objects)

    assert set(given.grants) == {(found, "apps")}


def test_the_account_of_a_tenant_may_have_another_name():
    named = deepcopy(NAMESPACE)
    named["metadata"]["annotations"] = {"flux-tenancy/service-account": "flux"}

    given = rbac_access(of(named, binding("view", [account("flux"), account("dev-team")], "apps")).objects)

    assert {subject for subject, _ in given.grants} == {
        Subject(SubjectKind.TENANT, "dev-team"),
        Subject(SubjectKind.ACCOUNT, "dev-team", "apps"),
    }


@pytest.mark.parametrize(
    ("label", "weakest"), [("view", ["view", "edit", "admin"]), ("edit", ["edit", "admin"]), ("admin", ["admin"])]
)
def test_what_the_stack_adds_to_a_role_of_kubernetes_the_stronger_ones_have_too(label, weakest):
    added = role("more", rule("get", "things"), labels={f"{RBAC}/aggregate-to-{label}": "true"})

    found = rbac_access(of(added).objects)

    assert sorted(subject.name for subject, _ in found.grants) == sorted(weakest)
    assert {subject.kind for subject, _ in found.grants} == {SubjectKind.ROLE}


def test_what_the_stack_adds_to_a_role_is_said_of_everyone_with_it_and_not_again_of_its_subjects():
    bound = binding("edit", [user("alice")], "apps")

    assert sentences(of(bound), of(bound, flux_edit())) == sentences(of(), of(flux_edit()))
    assert "! user alice gains Kubernetes' role edit in apps" in sentences(of(), of(bound, flux_edit()))


def test_rights_that_another_one_of_the_subject_includes_are_not_told():
    reader, one = role("reader", rule("get", "pods")), role("one", rule("get", "pods", names="one"))
    every = role("every", rule("*", "pods"), rule("get", "pods"), rule("delete", "pods", names="one"))
    everywhere = binding("reader", [user("alice")])
    here, named = (binding(name, [user("alice")], "apps", name=name) for name in ("reader", "one"))

    assert sentences(of(reader, everywhere), of(reader, everywhere, here)) == []
    assert len(sentences(of(), of(reader, everywhere, here))) == 1
    assert sentences(of(reader, one, here), of(reader, one, here, named)) == []
    assert sentences(of(), of(every, binding("every", [user("alice")], "apps"))) == [
        "! user alice may now use all verbs of pods in apps"
    ]


def test_the_same_rights_by_another_role_and_binding_are_no_change():
    before = of(role("one", rule("get list", "pods")), binding("one", [user("alice")], "apps"))
    after = of(
        role("pods", rule("get", "pods"), namespace="apps"),
        role("more", rule("list", "pods")),
        binding("pods", [user("alice")], "apps", name="a", kind="Role"),
        binding("more", [user("alice")], "apps", name="b"),
    )

    assert sentences(before, after) == []


def test_a_role_with_many_resources_is_told_by_its_name_when_it_is_bound():
    many = role("many", rule("get", "pods services secrets configmaps events"))

    assert sentences(of(many), of(many, binding("many", [user("alice")], "apps"))) == [
        "! user alice gains the role many (read only) in apps"
    ]


def test_a_role_with_many_resources_is_told_by_its_rights_if_a_part_of_it_was_there():
    many, few = role("many", rule("get", "pods services nodes configmaps events")), role("few", rule("get", "pods"))
    before = binding("few", [user("alice")], "apps", name="few")

    assert sentences(of(many, few, before), of(many, few, before, binding("many", [user("alice")], "apps"))) == [
        "  user alice may now get configmaps, events, nodes, services in apps"
    ]


def test_a_binding_that_kyverno_generates_for_labeled_namespaces_is_told_for_all_of_them():
    access = rbac_access(render(policies={"engine": "kyverno", "onboarding": True}).objects)

    found = {
        subject: sorted(name for _, _, name in granted.roles)
        for (subject, place), granted in access.grants.items()
        if place == LABELED
    }
    assert found.pop(Subject(SubjectKind.TENANT, LABELED)) == ["flux-tenancy-tenant"]
    assert {subject.namespace for subject in found} == {"flux-system"}
    assert {subject.name: roles for subject, roles in found.items()} == {
        "kustomize-controller-impersonator": ["flux-tenancy-impersonation"],
        "helm-controller-impersonator": ["flux-tenancy-impersonation"],
        "source-controller-restricted": ["flux-tenancy-secrets"],
        "notification-controller-restricted": ["flux-tenancy-secrets"],
    }


def test_what_the_stack_adds_to_the_rights_of_kyverno_is_told_for_its_background_controller():
    """Kyverno is one Helm release, whose values are in the render."""
    values = helm_values(KyvernoConfig.model_validate(KYVERNO), [rule("bind", "clusterroles", RBAC, "tenant")])
    properties = {"name": "kyverno", "namespace": "kyverno", "values": values}
    release = {"kind": "Release", "metadata": {"name": "kyverno"}, "properties": properties}
    rendered = RenderedObject(PLATFORM, "kubernetes:helm.sh/v3:Release", "kyverno", release)

    found = rbac_access([rendered]).of(
        Subject(SubjectKind.ACCOUNT, "kyverno-background-controller", "kyverno"), CLUSTER
    )

    assert found.rights == {Permission("bind", RBAC, "clusterroles", "tenant"), Permission("get", "", "namespaces")}


def test_a_binding_of_another_api_grants_nothing():
    foreign = binding("view", [user("alice")], "apps") | {"apiVersion": "authorization.openshift.io/v1"}

    assert rbac_access(of(foreign).objects).grants == {}


TENANT = Subject(SubjectKind.TENANT, "dev-team")
MADE = "namespaces that dev-team makes"


def access(**keys):
    people = {"viewers": [{"kind": "User", "name": "ann"}]}
    config = tenant_config(people=people, **keys)
    found = tenant_objects("dev-team", config, TenancyConfig.model_validate({"mode": "capsule"}))
    return rbac_access(of(*found.capsule, *found.namespaces, *found.access).objects)


def test_a_tenant_may_make_namespaces_anywhere_and_delete_its_own():
    found = access()

    assert found.of(TENANT, CLUSTER).rights == {Permission(verb, "", "namespaces") for verb in ("create", "patch")}
    assert Permission("delete", "", "namespaces") in found.of(TENANT, MADE).rights
    assert NamedRole("flux-tenancy-tenant") in found.of(TENANT, MADE).rights
    assert not found.of(TENANT, "apps").allows(Permission("delete", "", "namespaces"))


def test_its_people_have_the_same_access_in_the_namespaces_that_it_makes():
    ann = Subject(SubjectKind.USER, "ann")

    assert access().of(ann, MADE).rights == {NamedRole("flux-tenancy-viewer")}


def test_a_tenant_that_is_leaving_may_nothing():
    found = tenant_objects(
        "dev-team", tenant_config(state="leaving"), TenancyConfig.model_validate({"mode": "capsule"})
    )

    assert rbac_access(of(*found.capsule, *found.namespaces).objects).grants == {}
