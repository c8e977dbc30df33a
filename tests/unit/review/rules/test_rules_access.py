"""Rules about access: each breaks on what it is for, and on nothing else."""

from __future__ import annotations

from base64 import b64encode

import pytest
from sample_rules import ACCOUNT, EVERYTHING, binding, cluster_object, deploy_key, namespace, rendered_object, role

from flux_tenancy.review.render.rendered import GENERATED
from flux_tenancy.review.rules.table import (
    RuleSetting,
    admin_bindings,
    plain_secrets,
    reserved_namespaces,
    writable_deploy_keys,
)
from tests.support.messages import values_of

SETTING = RuleSetting()
CONTROLLER = {"kind": "ServiceAccount", "name": "kustomize-controller", "namespace": "flux-system"}
GROUP = {"kind": "Group", "name": "ops", "apiGroup": "rbac.authorization.k8s.io"}


def admins(*objects):
    """Owner, resource and code of each binding that breaks the rule in a stack with these objects and a tenant."""
    return [(each.owner, each.resource, each.message.code) for each in admin_bindings([namespace(), *objects], SETTING)]


@pytest.mark.parametrize("subject", [ACCOUNT, CONTROLLER, GROUP])
def test_a_binding_to_cluster_admin_in_a_tenants_namespace_breaks_the_rule_whoever_is_bound(subject):
    assert admins(binding("cluster-admin", subject, within="apps")) == [
        ("dev-team", "RoleBinding apps/powerful", "FT-REV-101")
    ]


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
@pytest.mark.parametrize("groups", [["*"], [""]])
def test_a_role_with_all_verbs_on_all_resources_counts_as_cluster_admin(kind, groups):
    powerful = role("wide", [EVERYTHING | {"apiGroups": groups}], within="apps" if kind == "Role" else "")
    bound = binding("wide", ACCOUNT, within="apps", kind=kind)

    assert admins(powerful, bound) == admins(bound, powerful) == [("dev-team", bound_name(bound), "FT-REV-101")]


def bound_name(bound):
    return f"{bound.kind} {bound.namespace}/{bound.name}"


@pytest.mark.parametrize(
    "rule",
    [
        EVERYTHING | {"verbs": ["get", "list"]},
        EVERYTHING | {"resources": ["configmaps"]},
        EVERYTHING | {"resourceNames": ["one"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ],
)
def test_a_role_that_allows_less_may_be_bound(rule):
    assert admins(role("narrow", [rule]), binding("narrow", ACCOUNT, within="apps")) == []


def test_a_role_of_the_same_name_elsewhere_is_another_role():
    assert (
        admins(role("wide", [EVERYTHING], within="other"), binding("wide", ACCOUNT, within="apps", kind="Role")) == []
    )
    assert admins(role("wide", [EVERYTHING]), binding("wide", ACCOUNT, within="apps", kind="Role")) == []


@pytest.mark.parametrize("to", ["admin", "edit", "view", "flux-tenancy-tenant", "unknown"])
def test_other_roles_may_be_bound(to):
    assert admins(binding(to, ACCOUNT, within="apps")) == []


@pytest.mark.parametrize(
    "subject",
    [
        ACCOUNT,
        ACCOUNT | {"name": "default"},
        {"kind": "User", "name": "system:serviceaccount:apps:dev-team"},
        {"kind": "Group", "name": "system:serviceaccounts:apps"},
        {"kind": "Group", "name": "system:serviceaccounts"},
        {"kind": "Group", "name": "system:authenticated"},
    ],
)
def test_a_tenant_that_is_cluster_admin_of_the_whole_cluster_breaks_the_rule(subject):
    assert admins(binding("cluster-admin", subject)) == [("dev-team", "ClusterRoleBinding powerful", "FT-REV-101")]


def test_a_tenant_that_is_admin_of_another_namespace_breaks_the_rule():
    bound = binding("cluster-admin", ACCOUNT, within="flux-system")

    assert admins(bound) == [("dev-team", "RoleBinding flux-system/powerful", "FT-REV-101")]


def test_flux_and_the_platforms_people_may_be_cluster_admin():
    assert admins(binding("cluster-admin", CONTROLLER, GROUP)) == []
    assert admins(binding("cluster-admin", CONTROLLER, within="flux-system")) == []


def test_what_a_binding_names_is_shown_on_one_line():
    subject = {"kind": "User", "name": "eve\x1b[31m\nroot"}
    bound = binding("cluster-admin", subject, within="apps")

    [found] = admin_bindings([namespace(), bound], SETTING)

    assert "User eve [31m root" in found.message


def test_a_deploy_key_that_can_write_breaks_the_rule():
    keys = [deploy_key(readOnly=False), deploy_key(readOnly=None), deploy_key(), deploy_key(readOnly="true")]

    found = [[each.message.code for each in writable_deploy_keys([key], SETTING)] for key in keys]

    assert found == [["FT-REV-103"], ["FT-REV-103"], [], ["FT-REV-103"]]


def plain(**data):
    """The entries that break the rule, of a Secret with this text."""
    encoded = {key.replace("_", "."): b64encode(text.encode()).decode() for key, text in data.items()}
    return of_secret(data=encoded)


def of_secret(**fields):
    secret = cluster_object("v1", "Secret", "dev-team-git", "apps", "dev-team", **fields)
    found = list(plain_secrets([secret], SETTING))
    assert {each.resource for each in found} <= {"Secret apps/dev-team-git"}
    return [values_of(each.message)[0] for each in found]


def test_a_secret_in_plain_text_breaks_the_rule():
    assert plain(identity="-----BEGIN OPENSSH PRIVATE KEY-----\n…", password="pa55word") == ["identity, password"]
    assert of_secret(stringData={"token": "pa55word"}) == ["token"]
    assert of_secret(data={"token": "not base64"}) == ["token"]


def test_the_text_itself_is_not_shown():
    secret = cluster_object("v1", "Secret", "dev-team-git", "apps", stringData={"password": "pa55word"})

    [found] = plain_secrets([secret], SETTING)

    assert "pa55word" not in repr(found)


@pytest.mark.parametrize("text", ["<encrypted tenants.dev-team.source.deployKey 0123456789abcdef>", GENERATED])
def test_a_stand_in_is_not_plain_text(text):
    assert of_secret(stringData={"identity": text, "githubAppPrivateKey": f"{text}\n"}) == []
    assert plain(identity=text) == []


@pytest.mark.parametrize(
    "text",
    [
        "<encrypted tenants.dev-team.source.deployKey>",
        "<secret> pa55word",
        "pa55word <encrypted tenants.dev-team.source.deployKey 0123456789abcdef>",
    ],
)
def test_text_that_only_contains_a_stand_in_is_plain_text(text):
    assert of_secret(stringData={"identity": text}) == ["identity"]


def test_data_that_only_an_update_knows_is_not_plain_text():
    assert of_secret(data=GENERATED) == []


def test_public_entries_may_be_read():
    public = {"known_hosts": "git.example.com ssh-ed25519 AAAA", "identity.pub": "ssh-ed25519 AAAA", "ca.crt": "…"}
    assert of_secret(stringData=public | {"username": "git", "githubAppID": "1", "alice.sshpub": "ssh-ed25519 A"}) == []


def test_an_openpgp_key_may_be_read_only_if_it_is_public():
    assert of_secret(stringData={"alice.asc": "-----BEGIN PGP PUBLIC KEY BLOCK-----\n…"}) == []
    assert of_secret(stringData={"alice.asc": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n…"}) == ["alice.asc"]


def test_no_entry_may_be_read_that_has_a_private_key():
    private = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n"
    public = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n…\n"
    found = of_secret(stringData={"alice.sshpub": private, "identity.pub": private, "bob.asc": public + private})
    assert found == ["alice.sshpub, bob.asc, identity.pub"]


def test_a_cosign_key_may_be_read_only_if_it_is_public():
    labels = "PUBLIC KEY", "ENCRYPTED SIGSTORE PRIVATE KEY"
    public, private = (f"-----BEGIN {label}-----\nMFkw\n-----END {label}-----\n" for label in labels)
    assert of_secret(stringData={"ci.pub": public}) == []
    assert of_secret(stringData={"ci.pub": private}) == of_secret(stringData={"ci.pub": public + private}) == ["ci.pub"]


def test_other_kinds_hold_no_secrets():
    assert list(plain_secrets([cluster_object("v1", "ConfigMap", "a", "apps", data={"token": "a"})], SETTING)) == []


@pytest.mark.parametrize("name", ["kube-system", "flux-system", "default", "kyverno", "cert-manager"])
def test_a_tenant_in_a_reserved_namespace_breaks_the_rule(name):
    [found] = reserved_namespaces([namespace(name)], SETTING)

    assert (found.owner, found.resource, found.message.code) == ("dev-team", f"Namespace {name}", "FT-REV-105")


def test_the_platform_may_be_in_reserved_namespaces_and_tenants_in_their_own():
    own = rendered_object({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system", "labels": {}}})

    assert list(reserved_namespaces([own, namespace("apps")], SETTING)) == []
