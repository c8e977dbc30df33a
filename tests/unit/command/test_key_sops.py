"""`flux-tenancy key sops` and `key sops-config`: keys are made, rotated and withdrawn, and nothing private is seen.

One `.sops.yaml` for a repository comes out of what all stacks say in plain text.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from sops_project import Project, sealed

from flux_tenancy.components.keys.age_keys import read_identities
from flux_tenancy.components.keys.openpgp_keys import read_private_keys
from flux_tenancy.operations.sops_keys import encrypted_files
from flux_tenancy.operations.stack.pulumi_cli import PulumiConfig
from tests.support.post_quantum_key import IDENTITY, RECIPIENT

AGE = "tenants.dev-team.sync.decryption.age"
DECRYPTION = ("tenants", "dev-team", "sync", "decryption")
OPENPGP = (*DECRYPTION, "openpgp", "fingerprints")
STRANGER = "age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z"


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project", monkeypatch)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    return folder


def make(project: Project, *arguments: str) -> str:
    return project.told("sops", "dev-team", "--stack", "staging", *arguments)


def withdraw(project: Project, key: str, *arguments: str) -> str:
    return make(project, "--withdraw", key, *arguments)


def recipients(project: Project) -> list[str]:
    """What the stack says of the identities that it has; both agree."""
    derived = [identity.recipient for identity in read_identities(project.kept(f"{AGE}.identities"))]
    assert project.said("tenants", "dev-team", "sync", "decryption", "age", "recipients") == derived
    return derived


def encrypted(checkout: Path, path: str, *keys: str) -> None:
    """A file as `sops` leaves it, encrypted for these keys."""
    entries = "".join(f"    - {'recipient' if key.startswith('age') else 'fp'}: {key}\n" for key in keys)
    (checkout / path).parent.mkdir(parents=True, exist_ok=True)
    (checkout / path).write_text(f"data: ENC[AES256_GCM,data:AA==]\nsops:\n  age:\n{entries}")


def test_a_first_key_is_stored_and_only_its_recipient_is_shown(project):
    out = make(project)

    [identity] = read_identities(project.kept(f"{AGE}.identities"))
    assert recipients(project) == [identity.recipient]
    assert out.splitlines() == [
        f"Stored a new age identity of tenant dev-team, encrypted, in Pulumi.staging.yaml: {AGE}.identities",
        f"Recipient: {identity.recipient}",
        "Next:",
        "  run `pulumi preview` and `pulumi up`, so that the cluster can decrypt with it;",
        "  run `flux-tenancy key sops-config dev-team > .sops.yaml` for the repository, so that `sops` encrypts "
        "for it;",
    ]
    assert identity.private not in out
    assert "SECRET-KEY" not in (project.folder / "Pulumi.staging.yaml").read_text()


def test_only_the_lines_of_the_keys_change(project):
    """As one change, so that a key and its recipient come and go together."""
    file = project.folder / "Pulumi.staging.yaml"
    others = "        postBuild: {substitute: {tag: 1234e56, account: 0123456789}}  # as Pulumi would not write them\n"
    entry = f"    dev-team: # the first\n      sync:\n{others}"
    file.write_text(file.read_text().replace("    dev-team: {sync: {path: ./staging}}\n", entry))
    before = file.read_text()

    make(project)
    [first] = recipients(project)
    make(project)
    withdraw(project, first)

    identities = f"            identities:\n              secure: {sealed(project.kept(f'{AGE}.identities'))}\n"
    public = f"            recipients:\n            - {recipients(project)[0]}\n"
    added = f"        decryption:\n          age:\n{identities}{public}"
    assert file.read_text() == before.replace(others, f"{others}{added}")


def test_the_platform_has_a_key_of_its_own(project):
    out = project.told("sops", "--platform", "--stack", "staging")

    [identity] = read_identities(project.kept("flux.sync.decryption.age.identities"))
    assert "Stored a new age identity of the platform, encrypted" in out
    assert "`flux-tenancy key sops-config --platform > .sops.yaml`" in out
    assert project.said("flux", "sync", "decryption", "age", "recipients") == [identity.recipient]


def test_a_post_quantum_identity_stays_when_a_new_one_is_created_and_when_that_is_withdrawn(project):
    decryption = f"{{age: {{identities: {{secure: {sealed(IDENTITY)}}}, recipients: [{RECIPIENT}]}}}}"
    file = project.folder / "Pulumi.staging.yaml"
    file.write_text(file.read_text().replace("./staging}", f"./staging, decryption: {decryption}}}"))

    make(project)
    public = project.said(*AGE.split("."), "recipients")
    assert public[1:] == [RECIPIENT]
    assert project.kept(f"{AGE}.identities").splitlines()[1:] == [IDENTITY]

    withdraw(project, public[0])
    assert project.said(*AGE.split("."), "recipients") == [RECIPIENT]
    assert project.kept(f"{AGE}.identities") == f"{IDENTITY}\n"


def test_an_openpgp_key_names_its_owner(project):
    out = make(project, "--openpgp")

    [key] = read_private_keys(project.kept("tenants.dev-team.sync.decryption.openpgp.privateKeys"))
    assert f"Fingerprint: {key.fingerprint}\n" in out
    assert "flux-tenancy staging/dev-team" in key.private
    assert project.said(*OPENPGP) == [key.fingerprint]
    assert key.private.splitlines()[4] not in out


def test_a_further_key_is_stored_in_front_of_the_existing_ones(project):
    make(project)
    [first] = recipients(project)

    out = make(project)

    newest, kept = recipients(project)
    assert kept == first != newest
    assert out.splitlines()[-1] == (
        f"  {first} decrypts until `flux-tenancy key sops dev-team --stack staging --withdraw {first}`"
    )


def test_files_of_a_checkout_that_need_the_new_key_are_listed(project, checkout):
    make(project)
    [first] = recipients(project)
    encrypted(checkout, "staging/a.yaml", first)
    encrypted(checkout, "base/b.yaml", STRANGER, first)
    encrypted(checkout, "production/c.yaml", STRANGER)
    encrypted(checkout, ".git/d.yaml", first)
    (checkout / "staging/plain.yaml").write_text(f"recipient: {first}\n")

    out = make(project, "--repo", str(checkout))

    assert out.splitlines()[5:8] == [
        "  in the checkout, somebody who can decrypt them has to update 2 of 3 encrypted files:",
        "    sops updatekeys --yes base/b.yaml",
        "    sops updatekeys --yes staging/a.yaml",
    ]


def test_the_name_of_a_file_is_quoted_and_escaped_and_reaches_no_shell(project, checkout):
    make(project)
    [only] = recipients(project)
    encrypted(checkout, "staging/a.yaml; touch b\x1b[31m\n.yaml", only)
    command = "sops updatekeys --yes 'staging/a.yaml; touch b [31m .yaml'"

    assert f"    {command}" in make(project, "--repo", str(checkout))

    refused = project.refused("sops", "dev-team", "--stack", "staging", "--withdraw", only, "--repo", str(checkout))
    assert f"`{command}`" in refused


@pytest.mark.parametrize(
    "text",
    [
        "sops:\n    age:\n        - recipient: {}\n          enc: x\n",
        '{{"sops": {{"age": [{{"recipient": "{}", "enc": "x"}}]}}}}\n',
        "sops_age__list_0__map_recipient={}\n",
        "[sops]\nage__list_0__map_recipient = {}\n",
    ],
    ids=["YAML", "JSON", "dotenv", "INI"],
)
def test_files_of_each_format_of_sops_are_read(project, checkout, text):
    make(project)
    [only] = recipients(project)
    make(project)
    newest, _ = recipients(project)
    (checkout / "file").write_text("ENC[AES256_GCM,data:AA==]\n" + text.format(only))

    assert "decrypts file (FT-OPS-034)\n" in project.refused(
        "sops", "dev-team", "--stack", "staging", "--withdraw", only, "--repo", str(checkout)
    )
    (checkout / "file").write_text("ENC[AES256_GCM,data:AA==]\n" + text.format(newest))
    assert "none of 1 encrypted files" in withdraw(project, only, "--repo", str(checkout))


def test_a_withdrawn_key_is_removed_and_its_files_are_listed(project, checkout):
    make(project)
    [old] = recipients(project)
    make(project)
    newest, _ = recipients(project)
    encrypted(checkout, "staging/a.yaml", newest, old)
    encrypted(checkout, "staging/b.yaml", newest)

    out = withdraw(project, old, "--repo", str(checkout))

    assert recipients(project) == [newest]
    assert out.splitlines() == [
        f"Removed {old} from Pulumi.staging.yaml: {AGE}.identities",
        "Next:",
        "  run `pulumi preview` and `pulumi up`: from then on the cluster does not decrypt with it;",
        "  run `flux-tenancy key sops-config dev-team > .sops.yaml` for the repository, so that `sops` stops using it;",
        "  in the checkout, somebody who can decrypt them has to update 1 of 2 encrypted files:",
        f"    sops rotate --in-place --rm-age {old} staging/a.yaml",
        "  whoever has the key can still decrypt Git's history: renew those secrets if the key was leaked.",
    ]


def test_a_key_is_withdrawn_while_one_of_another_kind_decrypts_its_files(project, checkout):
    make(project)
    [old] = recipients(project)
    make(project)
    make(project, "--openpgp")
    [fingerprint] = project.said(*OPENPGP)
    encrypted(checkout, "staging/a.yaml", old, fingerprint)

    assert f"--rm-age {old} staging/a.yaml" in withdraw(project, old, "--repo", str(checkout))


@pytest.mark.parametrize("written", [str.upper, str.lower])
def test_an_openpgp_key_is_withdrawn_by_its_fingerprint(project, written):
    make(project, "--openpgp")
    [old] = project.said(*OPENPGP)
    make(project, "--openpgp")

    out = withdraw(project, written(old))

    assert f"`sops rotate --in-place --rm-pgp {old} <file>`" in out
    [newest] = project.said(*OPENPGP)
    assert newest != old


@pytest.mark.parametrize(("arguments", "out_of"), [((), "age"), (("--openpgp",), "openpgp")])
def test_the_only_key_cannot_be_withdrawn(project, arguments, out_of):
    create = " ".join(["`flux-tenancy key sops dev-team", *arguments, "--stack staging`"])
    make(project, *arguments)
    kind = project.said("tenants", "dev-team", "sync", "decryption", out_of)
    [only] = kind.get("recipients") or kind.get("fingerprints")

    said = project.refused("sops", "dev-team", "--stack", "staging", "--withdraw", only)

    assert said.startswith(f"error: {only} ") and "(FT-OPS-033)\n" in said
    assert f"create another first with {create}, " in said
    assert said.endswith(f" tenants.dev-team.sync.decryption.{out_of}\n")


def test_an_unknown_key_cannot_be_withdrawn(project):
    assert "(FT-OPS-031)" in project.refused("sops", "dev-team", "--stack", "staging", "--withdraw", STRANGER)
    make(project)

    said = project.refused("sops", "dev-team", "--stack", "staging", "--withdraw", STRANGER)

    assert "(FT-OPS-031)\n" in said and "tenant dev-team" in said and STRANGER in said
    assert recipients(project)[0] in said


def test_a_folder_of_the_checkout_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    """Its files may be encrypted for the very key that is being withdrawn."""
    (tmp_path / "private").mkdir()
    (tmp_path / ".git").mkdir()
    scan = os.scandir

    def refused(path):
        if path.endswith(("private", ".git")):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)

    with pytest.raises(PermissionError, match="private"):
        encrypted_files(tmp_path)


def test_a_value_that_is_not_a_key_is_an_error_that_does_not_repeat_it(project):
    make(project)
    file = project.folder / "Pulumi.staging.yaml"
    file.write_text(file.read_text().replace(sealed(project.kept(f"{AGE}.identities")), sealed("pa55word")))

    said = project.refused("sops", "dev-team", "--stack", "staging")

    assert said.startswith(f"error: Pulumi.staging.yaml: {AGE}.identities: ") and "(FT-OPS-035)\n" in said
    assert "pa55word" not in said


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
    assert found["^staging/"] == {"age": staging["age"]["recipients"][0], "pgp": staging["openpgp"]["fingerprints"][0]}
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
        ("sops --stack staging", "FT-OPS-006", "`flux-tenancy key sops TENANT`"),
        ("sops dev-team --platform --stack staging", "FT-OPS-006", "`flux-tenancy key sops TENANT`"),
        ("sops dev-taem --stack staging", "FT-OPS-004", "listed: dev-team, ops-team"),
        ("sops dev-team --repo nowhere --stack staging", "FT-OPS-008", "nowhere"),
        ("sops-config", "FT-OPS-006", "`flux-tenancy key sops-config TENANT`"),
        ("sops-config dev-team --platform", "FT-OPS-006", "`flux-tenancy key sops-config TENANT`"),
        ("sops-config dev-team", "FT-OPS-036", "`flux-tenancy key sops dev-team --stack STACK`"),
        ("sops-config --platform", "FT-OPS-036", "the platform"),
    ],
)
def test_an_error_is_two_lines_with_a_code(project, arguments, code, field):
    error, remedy = project.refused(*arguments.split()).splitlines()

    assert error.startswith("error: ") and error.endswith(f" ({code})") and remedy.startswith("remedy: ")
    assert field in error + remedy
