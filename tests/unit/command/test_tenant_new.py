"""`flux-tenancy tenant new`: the files that it writes, the key that it makes, and what it refuses."""

from __future__ import annotations

import difflib

import pytest
import yaml
from tenants_project import TenantsProject, tenants_project

from flux_tenancy.components.keys.ssh_keys import read_private_key

URL = "ssh://git@git.example.com/shop/apps.git"
NEW = ("new", "shop", "--no-preview")
STAGING = ("--stack", "staging")


@pytest.fixture
def project(tmp_path, monkeypatch) -> TenantsProject:
    return tenants_project(tmp_path, monkeypatch)


def test_a_tenant_is_a_base_file_and_an_entry_with_a_key_in_each_stack(project):
    before = project.files()

    out = project.told(*NEW, "--repo", URL, *STAGING, "--stack", "production", "--folder", "./deploy")

    assert project.read("tenants/shop.yaml") == (
        "# yaml-language-server: $schema=../schemas/tenant.schema.json\n"
        "# The base of the tenant shop, shared by all environments. A stack that lists shop has it.\n"
        f"namespaces:\n  - name: shop\nsource:\n  url: {URL}\nsync:\n  targetNamespace: shop\n"
    )
    added = [
        "        shop:",
        "          sync:",
        "            path: ./deploy",
        "          source:",
        "            deployKey:",
        "              secure: v1:CIPHER",
    ]
    for stack in ("staging", "production"):
        file = f"Pulumi.{stack}.yaml"
        lines = difflib.ndiff(before[file].splitlines(), project.read(file).splitlines())
        assert [line for line in lines if line[0] in "-+"] == [f"+ {line}" for line in added]
    assert out.splitlines()[-1] == (
        "Next: review and commit the files, then run `pulumi up --stack staging` and `pulumi up --stack production`."
    )


def test_a_tenant_that_may_make_namespaces_has_no_namespace_that_flux_would_give_them_the_name_of(project):
    file = project.folder / "Pulumi.staging.yaml"
    administrators = "administrators: [{kind: User, name: alice}]"
    capsule = f"    flux-tenancy:capsule: {{version: 0.14.0, sha256: {'5f' * 32}, {administrators}}}\n"
    tenancy = "    flux-tenancy:tenancy: {mode: capsule}\n"
    file.write_text(file.read_text().replace("encryptionsalt", f"{capsule}{tenancy}encryptionsalt"))

    project.told(*NEW, "--repo", URL, *STAGING)

    assert "sync" not in yaml.safe_load(project.read("tenants/shop.yaml"))


def test_the_owners_are_told_the_public_half_of_each_stacks_key_and_nobody_the_other(project):
    out = project.told(*NEW, "--repo", URL, *STAGING, "--stack", "production")

    end = "-----END OPENSSH PRIVATE KEY-----"
    keys = [read_private_key(f"{part}{end}\n") for part in project.read("plain").split(end)[:2]]
    assert keys[0].public != keys[1].public
    assert out.splitlines()[:6] == [
        "Wrote tenants/shop.yaml",
        f"Listed tenant shop in Pulumi.staging.yaml, with a new ssh-ed25519 key, encrypted: {keys[0].fingerprint}",
        f"Listed tenant shop in Pulumi.production.yaml, with a new ssh-ed25519 key, encrypted: {keys[1].fingerprint}",
        f"The owners of {URL} have to add these keys, with read access:",
        f"  staging: {keys[0].public}",
        f"  production: {keys[1].public}",
    ]
    secret = keys[0].private.splitlines()[2]
    files = [file for file in project.folder.rglob("*") if file.is_file() and file.name != "plain"]
    assert secret not in out and not [file for file in files if secret in file.read_text()]


def test_a_key_at_github_is_registered_by_the_program(project):
    out = project.told(*NEW, "--repo", URL, "--github", "shop/apps", "--branch", "release", *STAGING)

    assert yaml.safe_load(project.read("tenants/shop.yaml"))["source"] == {
        "url": URL,
        "github": {"repository": "shop/apps"},
        "webhook": {},
        "branch": "release",
    }
    assert "`pulumi up` registers the keys, read-only, at shop/apps.\n" in out


def test_a_repository_over_https_needs_no_key(project):
    out = project.told(*NEW, "--repo", "https://git.example.com/shop", *STAGING)

    assert "        shop: {}\n" in project.read("Pulumi.staging.yaml")
    assert "add credentials to the stack files (docs/git.md)" in out
    assert not (project.folder / "plain").exists()


def test_several_namespaces_have_no_common_target(project):
    project.told(*NEW, "--repo", URL, "--namespace", "shop", "-n", "shop-jobs", *STAGING)

    content = yaml.safe_load(project.read("tenants/shop.yaml"))
    assert content["namespaces"] == [{"name": "shop"}, {"name": "shop-jobs"}] and "sync" not in content


def test_a_tenant_with_a_base_file_is_listed_in_a_further_stack(project):
    (project.folder / "tenants/shop.yaml").write_text(f"namespaces: [{{name: shop}}]\nsource: {{url: {URL}}}\n")

    out = project.told(*NEW, *STAGING)

    assert out.startswith("Listed tenant shop in Pulumi.staging.yaml, with a new ssh-ed25519 key")
    assert "shop" in yaml.safe_load(project.read("Pulumi.staging.yaml"))["config"]["flux-tenancy:tenants"]


def test_the_first_secret_of_a_stack_brings_its_salt(project):
    file = project.folder / "Pulumi.staging.yaml"
    file.write_text(file.read_text().replace("encryptionsalt: v1:salt-of-staging\n", ""))

    project.told(*NEW, "--repo", URL, *STAGING)

    assert file.read_text().endswith("\nencryptionsalt: v1:new\n")


def test_the_preview_of_each_stack_follows(project, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "flux_tenancy.operations.tenants.lifecycle.show_preview", lambda stack, folder: seen.append((stack, folder))
    )

    project.told("new", "shop", "--repo", URL, *STAGING, "--stack", "production")

    assert seen == [("staging", project.folder), ("production", project.folder)]


@pytest.mark.parametrize(
    ("arguments", "code", "fields"),
    [
        (["dev-team", "--repo", URL], "FT-OPS-304", ["Pulumi.staging.yaml lists dev-team already", "none is left"]),
        (["shop"], "FT-OPS-303", ["tenants/shop.yaml", "--repo ssh://"]),
        (["Shop", "--repo", URL], "", ["error: TENANT: ", "'Shop'"]),
        (["../x", "--repo", URL], "", ["error: TENANT: "]),
        (["kube-system", "--repo", URL], "", ["error: TENANT: "]),
        (["shop", "--repo", "git.example.com"], "", ["error: --repo: "]),
        (["shop", "--repo", URL, "--namespace", "apps"], "", ["tenants/shop.yaml: namespaces[0].name", "dev-team"]),
        (["shop", "--repo", URL, "-n", "a", "-n", "kube-system"], "", ["error: --namespace: 'kube-system'"]),
        (["shop", "--repo", URL, "--github", "apps"], "", ["error: --github: 'apps'"]),
        (["shop", "--repo", URL, "--branch", "a b"], "", ["error: --branch: 'a b'"]),
        (["shop", "--repo", URL, "--folder", "../up"], "", ["error: --folder: '../up'"]),
        (["shop", "--repo", "ssh://git:pa55word@git.example.com/x"], "", []),
        (["shop", "--repo", "ssh://git@unknown.example.com/x"], "", ["unknown.example.com"]),
    ],
)
def test_what_cannot_be_applied_leaves_every_file_as_it_was(project, arguments, code, fields):
    error = project.refused("new", *arguments, *STAGING, "--no-preview")

    assert error.startswith("error: ") and "\nremedy: " in error and code in error and "pa55word" not in error
    assert [field for field in fields if field not in error] == []


def test_all_that_is_wrong_is_told_at_once(project):
    values = ["--repo", "git.example.com", "-n", "A", "-n", "kube-system", "--github", "apps", "--branch", "a b"]

    error = project.refused("new", "Shop", *values, "--folder", "..", *STAGING)

    assert [line[:17] for line in error.splitlines()] == [
        "error: 7 errors:",
        "  TENANT: 'Shop' ",
        "  --repo: 'git.ex",
        "  --namespace: 'A",
        "  --namespace: 'k",
        "  --github: 'apps",
        "  --branch: 'a b'",
        "  --folder: '..' ",
        "remedy: correct i",
    ]


def test_all_unknown_stacks_are_told_at_once(project):
    error = project.refused(*NEW, "--repo", URL, "--stack", "prod", "--stack", "dev")

    assert "stack prod has no " in error and "stack dev has no " in error and "production or staging" in error


def test_what_is_wrong_in_several_stacks_is_told_at_once(project):
    for stack in ("staging", "production"):
        file = project.folder / f"Pulumi.{stack}.yaml"
        file.write_text(file.read_text().replace("config:\n", "config:\n    flux-tenancy:policies: {mode: none}\n"))

    error = project.refused(*NEW, "--repo", URL, *STAGING, "--stack", "production")

    assert "Pulumi.staging.yaml: policies.mode" in error and "Pulumi.production.yaml: policies.mode" in error


def test_a_base_file_is_not_written_again(project):
    (project.folder / "tenants/shop.yaml").write_text(f"namespaces: [{{name: shop}}]\nsource: {{url: {URL}}}\n")

    assert "(FT-OPS-302)\n" in project.refused(*NEW, "--repo", URL, *STAGING)
    error = project.refused(*NEW, "--namespace", "x", "--branch", "y", *STAGING)
    assert "--namespace and --branch would change tenants/shop.yaml" in error and "(FT-OPS-305)\n" in error


def test_a_stack_file_that_is_no_yaml_is_named(project):
    file = project.folder / "Pulumi.staging.yaml"
    file.write_text(file.read_text() + "  misplaced: value\n")

    assert project.refused(*NEW, "--repo", URL, *STAGING).startswith("error: Pulumi.staging.yaml: is not valid YAML: ")


def test_an_error_of_pulumi_leaves_every_file_as_it_was(project):
    (project.folder / "refusal").write_text("error: passphrase must be set\n")

    assert "(FT-OPS-012)\n" in project.refused(*NEW, "--repo", URL, *STAGING)


def test_a_file_with_aliases_is_to_be_edited_by_hand(project):
    file = project.folder / "Pulumi.staging.yaml"
    file.write_text(
        "config:\n  flux-tenancy:cluster: {kubeconfig: kubeconfig}\n  flux-tenancy:tenants: &t {}\nextra: *t\n"
    )

    error = project.refused(*NEW, "--repo", URL, *STAGING)

    assert "Pulumi.staging.yaml: tenants.shop cannot be changed" in error and "(FT-OPS-300)\n" in error
