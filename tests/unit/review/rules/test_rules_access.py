"""Rules about access: each breaks on what it is for, and on nothing else."""

from __future__ import annotations

from base64 import b64encode

import pytest
from sample_access import account, binding, group, role, user
from sample_objects import at_github, home, kubernetes, rendered_object

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
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
ACCOUNT, CONTROLLER, GROUP = account("dev-team"), account("kustomize-controller", "flux-system"), group("ops")


def admins(*manifests):
    """Owner, resource and code of each binding that breaks the rule in a stack with these objects and a tenant."""
    found = admin_bindings([home(), *map(rendered_object, manifests)], SETTING)
    return [(each.owner, each.resource, each.message.code) for each in found]


@pytest.mark.parametrize("subject", [ACCOUNT, CONTROLLER, GROUP])
def test_a_binding_to_cluster_admin_in_a_tenants_namespace_breaks_the_rule_whoever_is_bound(subject):
    assert admins(binding("cluster-admin", [subject], "apps")) == [("dev-team", "RoleBinding apps/given", "FT-REV-101")]


@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
@pytest.mark.parametrize("groups", [["*"], [""]])
def test_a_role_with_all_verbs_on_all_resources_counts_as_cluster_admin(kind, groups):
    powerful = role("wide", EVERYTHING | {"apiGroups": groups}, namespace="apps" if kind == "Role" else "")
    bound = binding("wide", [ACCOUNT], "apps", kind=kind)

    assert admins(powerful, bound) == admins(bound, powerful) == [("dev-team", "RoleBinding apps/given", "FT-REV-101")]


@pytest.mark.parametrize(
    ("rule", "within", "kind"),
    [
        (EVERYTHING | {"verbs": ["get", "list"]}, "", "ClusterRole"),
        (EVERYTHING | {"resources": ["configmaps"]}, "", "ClusterRole"),
        (EVERYTHING | {"resourceNames": ["one"]}, "", "ClusterRole"),
        ({"nonResourceURLs": ["*"], "verbs": ["*"]}, "", "ClusterRole"),
        (EVERYTHING, "other", "Role"),
        (EVERYTHING, "", "Role"),
    ],
    ids=["verbs", "resources", "names", "URLs", "a role of another namespace", "a ClusterRole of this name"],
)
def test_a_role_that_allows_less_or_is_elsewhere_may_be_bound(rule, within, kind):
    assert admins(role("some", rule, namespace=within), binding("some", [ACCOUNT], "apps", kind=kind)) == []


@pytest.mark.parametrize("to", ["admin", "edit", "view", "flux-tenancy-tenant", "unknown"])
def test_other_roles_may_be_bound(to):
    assert admins(binding(to, [ACCOUNT], "apps")) == []


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
    assert admins(binding("cluster-admin", [subject])) == [("dev-team", "ClusterRoleBinding given", "FT-REV-101")]


def test_a_tenant_that_is_admin_of_another_namespace_breaks_the_rule():
    bound = binding("cluster-admin", [ACCOUNT], "flux-system")

    assert admins(bound) == [("dev-team", "RoleBinding flux-system/given", "FT-REV-101")]


def test_flux_and_the_platforms_people_may_be_cluster_admin():
    assert admins(binding("cluster-admin", [CONTROLLER, GROUP])) == []
    assert admins(binding("cluster-admin", [CONTROLLER], "flux-system")) == []


def test_what_a_binding_names_is_shown_on_one_line():
    bound = rendered_object(binding("cluster-admin", [user("eve\x1b[31m\nroot")], "apps"))

    [found] = admin_bindings([home(), bound], SETTING)

    assert "User eve [31m root" in found.message


def test_a_deploy_key_that_can_write_breaks_the_rule():
    keys = [
        at_github("RepositoryDeployKey", "dev-team-1", "apps", readOnly=each) for each in (False, None, True, "true")
    ]

    found = [[each.message.code for each in writable_deploy_keys([key], SETTING)] for key in keys]

    assert found == [["FT-REV-103"], ["FT-REV-103"], [], ["FT-REV-103"]]


def plain(**data):
    """The entries that break the rule, of a Secret with this text."""
    encoded = {key.replace("_", "."): b64encode(text.encode()).decode() for key, text in data.items()}
    return of_secret(data=encoded)


def of_secret(**fields):
    secret = kubernetes("Secret", "dev-team-git", "apps", **fields)
    found = list(plain_secrets([secret], SETTING))
    assert {each.resource for each in found} <= {"Secret apps/dev-team-git"}
    assert "pa55word" not in repr(found)
    return [values_of(each.message)[0] for each in found]


def test_a_secret_in_plain_text_breaks_the_rule():
    assert plain(identity="-----BEGIN OPENSSH PRIVATE KEY-----\n…", password="pa55word") == ["identity, password"]
    assert of_secret(stringData={"token": "pa55word"}) == ["token"]
    assert of_secret(data={"token": "not base64"}) == ["token"]


STAND_IN = "<encrypted tenants.dev-team.source.deployKey 0123456789abcdef>"
SSH_KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n"
PGP_PUBLIC, PGP_PRIVATE = (f"-----BEGIN PGP {kind} KEY BLOCK-----\n…\n" for kind in ("PUBLIC", "PRIVATE"))
COSIGN_PUBLIC, COSIGN_PRIVATE = (
    f"-----BEGIN {label}-----\nMFkw\n-----END {label}-----\n"
    for label in ("PUBLIC KEY", "ENCRYPTED SIGSTORE PRIVATE KEY")
)


@pytest.mark.parametrize("text", [STAND_IN, GENERATED])
def test_a_stand_in_is_not_plain_text(text):
    assert of_secret(stringData={"identity": text, "githubAppPrivateKey": f"{text}\n"}) == []
    assert plain(identity=text) == []


@pytest.mark.parametrize(
    ("name", "text", "may_be_read"),
    [
        ("identity", "<encrypted tenants.dev-team.source.deployKey>", False),
        ("identity", "<secret> pa55word", False),
        ("identity", f"pa55word {STAND_IN}", False),
        ("known_hosts", "git.example.com ssh-ed25519 AAAA", True),
        ("identity.pub", "ssh-ed25519 AAAA", True),
        ("ca.crt", "…", True),
        ("username", "git", True),
        ("githubAppID", "1", True),
        ("alice.sshpub", "ssh-ed25519 A", True),
        ("alice.asc", PGP_PUBLIC, True),
        ("alice.asc", PGP_PRIVATE, False),
        ("bob.asc", PGP_PUBLIC + SSH_KEY, False),
        ("alice.sshpub", SSH_KEY, False),
        ("identity.pub", SSH_KEY, False),
        ("ci.pub", COSIGN_PUBLIC, True),
        ("ci.pub", COSIGN_PRIVATE, False),
        ("ci.pub", COSIGN_PUBLIC + COSIGN_PRIVATE, False),
    ],
)
def test_only_entries_that_are_public_may_be_read_unless_they_have_a_private_key(name, text, may_be_read):
    assert of_secret(stringData={name: text}) == ([] if may_be_read else [name])


def test_data_that_only_an_update_knows_and_other_kinds_are_not_plain_text():
    assert of_secret(data=GENERATED) == []
    assert list(plain_secrets([kubernetes("ConfigMap", "a", "apps", data={"token": "a"})], SETTING)) == []


@pytest.mark.parametrize("name", ["kube-system", "flux-system", "default", "kyverno", "cert-manager"])
def test_a_tenant_in_a_reserved_namespace_breaks_the_rule(name):
    [found] = reserved_namespaces([home(name)], SETTING)

    assert (found.owner, found.resource, found.message.code) == ("dev-team", f"Namespace {name}", "FT-REV-105")


def test_the_platform_may_be_in_reserved_namespaces_and_tenants_in_their_own():
    own = kubernetes("Namespace", "flux-system", owner="platform", metadata={"labels": {}})

    assert list(reserved_namespaces([own, home()], SETTING)) == []
