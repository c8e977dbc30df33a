"""`flux-tenancy key sops`: keys are made, rotated and withdrawn, and nothing private is seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from sops_project import Project, sealed

from flux_tenancy.components.keys.age_keys import read_identities
from flux_tenancy.components.keys.openpgp_keys import read_private_keys
from tests.support.post_quantum_key import IDENTITY, RECIPIENT

AGE = "tenants.dev-team.sync.decryption.age"
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
    assert project.said("tenants", "dev-team", "sync", "decryption", "openpgp", "fingerprints") == [key.fingerprint]
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


def test_the_name_of_a_file_is_quoted_and_escaped(project, checkout):
    make(project)
    encrypted(checkout, "staging/a.yaml; touch b\x1b[31m\n.yaml", *recipients(project))

    assert "    sops updatekeys --yes 'staging/a.yaml; touch b [31m .yaml'" in make(project, "--repo", str(checkout))


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


def test_the_name_of_a_file_reaches_no_shell(project, checkout):
    make(project)
    [only] = recipients(project)
    make(project)
    (checkout / "a;touch b").write_text(f"ENC[AES256_GCM,data:AA==]\nsops:\n  age:\n  - recipient: {only}\n")

    refused = project.refused("sops", "dev-team", "--stack", "staging", "--withdraw", only, "--repo", str(checkout))

    assert "`sops updatekeys --yes 'a;touch b'`" in refused


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
    [fingerprint] = project.said("tenants", "dev-team", "sync", "decryption", "openpgp", "fingerprints")
    encrypted(checkout, "staging/a.yaml", old, fingerprint)

    assert f"--rm-age {old} staging/a.yaml" in withdraw(project, old, "--repo", str(checkout))


@pytest.mark.parametrize("written", [str.upper, str.lower])
def test_an_openpgp_key_is_withdrawn_by_its_fingerprint(project, written):
    make(project, "--openpgp")
    path = ("tenants", "dev-team", "sync", "decryption", "openpgp", "fingerprints")
    [old] = project.said(*path)
    make(project, "--openpgp")

    out = withdraw(project, written(old))

    assert f"`sops rotate --in-place --rm-pgp {old} <file>`" in out
    assert old not in project.said(*path)
    assert len(project.said(*path)) == 1


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


def test_a_value_that_is_not_a_key_is_an_error_that_does_not_repeat_it(project):
    make(project)
    file = project.folder / "Pulumi.staging.yaml"
    file.write_text(file.read_text().replace(sealed(project.kept(f"{AGE}.identities")), sealed("pa55word")))

    said = project.refused("sops", "dev-team", "--stack", "staging")

    assert said.startswith(f"error: Pulumi.staging.yaml: {AGE}.identities: ") and "(FT-OPS-035)\n" in said
    assert "pa55word" not in said


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        ((), "FT-OPS-006", "`flux-tenancy key sops TENANT`"),
        (("dev-team", "--platform"), "FT-OPS-006", "`flux-tenancy key sops TENANT`"),
        (("dev-taem",), "FT-OPS-004", "listed: dev-team, ops-team"),
        (("dev-team", "--repo", "nowhere"), "FT-OPS-008", "nowhere"),
    ],
)
def test_an_error_is_two_lines_with_a_code(project, arguments, code, field):
    error, remedy = project.refused("sops", *arguments, "--stack", "staging").splitlines()

    assert error.startswith("error: ") and error.endswith(f" ({code})") and remedy.startswith("remedy: ")
    assert field in error + remedy
