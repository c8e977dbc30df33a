"""`flux-tenancy key sops-config`: one `.sops.yaml` for a repository, out of what all stacks say in plain text."""

from __future__ import annotations

import pytest
import yaml
from sops_project import Project

from flux_tenancy.operations.stack.pulumi_cli import PulumiConfig

DECRYPTION = ("tenants", "dev-team", "sync", "decryption")


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    return Project(tmp_path, monkeypatch)


def key(project: Project, *arguments: str, stack: str = "staging") -> None:
    project.told("sops", *arguments, "--stack", stack)


def rules(project: Project, *arguments: str) -> dict[str, dict[str, str]]:
    """Creation rules by their path."""
    text = project.told("sops-config", *arguments)
    return {rule.pop("path_regex"): rule for rule in yaml.safe_load(text)["creation_rules"]}


def change(project: Project, change, stack: str = "staging") -> None:
    """Let somebody edit what the stack says of the tenant's decryption."""
    file = project.folder / f"Pulumi.{stack}.yaml"
    content = yaml.safe_load(file.read_text())
    change(content["config"]["flux-tenancy:tenants"]["dev-team"]["sync"].setdefault("decryption", {}))
    file.write_text(yaml.safe_dump(content))


def test_each_environment_has_rules_with_its_own_recipients_without_any_decrypting(project, monkeypatch):
    key(project, "dev-team")
    key(project, "dev-team", "--openpgp")
    key(project, "dev-team", stack="production")
    monkeypatch.delattr(PulumiConfig, "_run")

    found = rules(project, "dev-team")

    staging = project.said(*DECRYPTION)
    production = project.said(*DECRYPTION, stack="production")
    assert found["^staging/"] == {
        "age": staging["age"]["recipients"][0],
        "pgp": staging["openpgp"]["fingerprints"][0],
    }
    assert found["^production/.*\\.ya?ml$"] == {
        "encrypted_regex": "^(data|stringData)$",
        "age": production["age"]["recipients"][0],
    }


def test_a_renamed_project_has_the_same_rules(project):
    key(project, "dev-team")
    found = rules(project, "dev-team")
    for file in ("Pulumi.yaml", "Pulumi.staging.yaml", "Pulumi.production.yaml"):
        text = (project.folder / file).read_text()
        (project.folder / file).write_text(text.replace("flux-tenancy", "platform"))

    assert rules(project, "dev-team") == found


def test_all_keys_that_decrypt_are_encrypted_for_until_they_are_withdrawn(project):
    key(project, "dev-team")
    key(project, "dev-team")

    assert rules(project, "dev-team")["^staging/"]["age"] == ",".join(project.said(*DECRYPTION)["age"]["recipients"])


def test_a_stack_without_keys_has_no_rule(project):
    key(project, "dev-team", stack="production")

    assert set(rules(project, "dev-team")) == {"^production/.*\\.ya?ml$", "^production/"}


def test_the_platforms_repository_has_a_folder_for_each_stack(project):
    key(project, "--platform")

    assert "^clusters/staging/" in rules(project, "--platform")


def test_keys_of_a_key_management_service_are_named_by_its_own_rule(project):
    identity = {"provider": "gcp", "keys": ["projects/p/locations/global/keyRings/r/cryptoKeys/k"]}
    change(project, lambda decryption: decryption.update(workloadIdentity=identity))

    assert rules(project, "dev-team")["^staging/"] == {"gcp_kms": identity["keys"][0]}


def test_a_key_of_two_environments_is_refused(project):
    key(project, "dev-team")
    [recipient] = project.said(*DECRYPTION)["age"]["recipients"]
    change(project, lambda decryption: decryption.update(age={"recipients": [recipient]}), stack="production")

    error, _ = project.refused("sops-config", "dev-team").splitlines()
    assert error.endswith("(FT-OPS-038)")
    assert all(each in error for each in ("Pulumi.production.yaml", "Pulumi.staging.yaml", recipient))


@pytest.mark.parametrize(
    ("public", "said"),
    [
        ([], "error: Pulumi.staging.yaml has tenants.dev-team.sync.decryption.age.identities, but not "),
        (["age1qq"], "error: Pulumi.staging.yaml: tenants.dev-team.sync.decryption.age.recipients[0]: "),
    ],
)
def test_missing_or_invalid_public_keys_are_an_error(project, public, said):
    key(project, "dev-team")
    change(project, lambda decryption: decryption["age"].update(recipients=public))

    assert project.refused("sops-config", "dev-team").startswith(said)


@pytest.mark.parametrize(
    ("decryption", "code", "path"),
    [
        ({"workloadIdentity": {"provider": "gpc", "keys": ["k"]}}, "FT-CFG-606", "workloadIdentity.provider"),
        ({"workloadIdentity": {"provider": "aws", "keys": ["k"]}}, "FT-CFG-605", "workloadIdentity.roleArn"),
        ({"workloadIdentity": "aws"}, "FT-CFG-609", "workloadIdentity"),
        ({"age": {"recipients": 5}}, "FT-CFG-609", "age.recipients"),
        ({"openpgp": {"fingerprint": "A"}}, "FT-CFG-602", "openpgp.fingerprint"),
    ],
)
def test_what_is_not_valid_is_an_error_of_the_file(project, decryption, code, path):
    change(project, lambda section: section.update(decryption))

    error, _ = project.refused("sops-config", "dev-team").split("\nremedy: ")

    assert error.startswith(f"error: Pulumi.staging.yaml: tenants.dev-team.sync.decryption.{path}: ")
    assert error.endswith(f"({code})")


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        ((), "FT-OPS-006", "`flux-tenancy key sops-config TENANT`"),
        (("dev-team", "--platform"), "FT-OPS-006", "`flux-tenancy key sops-config TENANT`"),
        (("dev-team",), "FT-OPS-036", "`flux-tenancy key sops dev-team --stack STACK`"),
        (("--platform",), "FT-OPS-036", "the platform"),
    ],
)
def test_an_error_is_two_lines_with_a_code(project, arguments, code, field):
    error, remedy = project.refused("sops-config", *arguments).splitlines()

    assert error.startswith("error: ") and error.endswith(f" ({code})") and remedy.startswith("remedy: ")
    assert field in error + remedy
