"""`make sops-key`: keys are made, rotated and withdrawn, and nothing private is seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from sops_project import Project

from components.keys.age_keys import read_identities
from components.keys.openpgp_keys import read_private_keys
from operations import sops_key

AGE = "tenants.dev-team.sync.decryption.age"
HOW = "remedy: `make sops-key TENANT=… STACK=…`, or PLATFORM=1 for the platform's own sync\n"
STRANGER = "age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z"


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    (tmp_path / "project").mkdir()
    project = Project(tmp_path / "project", monkeypatch)
    monkeypatch.setattr(sops_key, "PROJECT", project.folder)
    return project


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    return folder


def make(project: Project, *arguments: str) -> str:
    return project.told(sops_key.app, "dev-team", "--stack", "staging", *arguments)


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
        f"Stored a new age identity of the tenant dev-team, encrypted, in Pulumi.staging.yaml: {AGE}.identities",
        f"Recipient: {identity.recipient}",
        "Next:",
        "  `pulumi preview` and `pulumi up`, so that the cluster can decrypt with it;",
        "  `make -s sops-config TENANT=dev-team > .sops.yaml` for the repository, so that `sops` encrypts for it;",
    ]
    assert identity.private not in out
    assert "SECRET-KEY" not in (project.folder / "Pulumi.staging.yaml").read_text()


def test_the_platform_has_a_key_of_its_own(project):
    out = project.told(sops_key.app, "--platform", "--stack", "staging")

    [identity] = read_identities(project.kept("flux.sync.decryption.age.identities"))
    assert "Stored a new age identity of the platform, encrypted" in out
    assert "`make -s sops-config PLATFORM=1 > .sops.yaml`" in out
    assert project.said("flux", "sync", "decryption", "age", "recipients") == [identity.recipient]


def test_a_hybrid_key_is_made_where_it_is_asked_for(project):
    assert "Recipient: age1pq1" in make(project, "--post-quantum")
    assert recipients(project)[0].startswith("age1pq1")


def test_an_openpgp_key_says_whose_it_is(project):
    out = make(project, "--openpgp")

    [key] = read_private_keys(project.kept("tenants.dev-team.sync.decryption.openpgp.privateKeys"))
    assert f"Fingerprint: {key.fingerprint}\n" in out
    assert "flux-tenancy staging/dev-team" in key.private
    assert project.said("tenants", "dev-team", "sync", "decryption", "openpgp", "fingerprints") == [key.fingerprint]
    assert key.private.splitlines()[4] not in out


def test_a_key_more_goes_before_those_that_still_decrypt(project):
    make(project)
    [first] = recipients(project)

    out = make(project)

    newest, kept = recipients(project)
    assert kept == first != newest
    assert out.splitlines()[-1] == (
        f"  {first} decrypts until `make sops-key TENANT=dev-team STACK=staging WITHDRAW={first}`"
    )


def test_the_checkout_tells_which_files_are_to_be_encrypted_anew(project, checkout):
    make(project)
    [first] = recipients(project)
    encrypted(checkout, "staging/a.yaml", first)
    encrypted(checkout, "base/b.yaml", STRANGER, first)
    encrypted(checkout, "production/c.yaml", STRANGER)
    encrypted(checkout, ".git/d.yaml", first)
    (checkout / "staging/plain.yaml").write_text(f"recipient: {first}\n")

    out = make(project, "--repo", str(checkout))

    assert out.splitlines()[5:8] == [
        "  in the checkout, by somebody who can decrypt them, 2 of 3 encrypted files:",
        "    sops updatekeys --yes base/b.yaml",
        "    sops updatekeys --yes staging/a.yaml",
    ]


def test_the_name_of_a_file_is_no_command_and_steers_no_terminal(project, checkout):
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

    assert "error: nothing else decrypts file\n" in project.refused(
        sops_key.app, "dev-team", "--stack", "staging", "--withdraw", only, "--repo", str(checkout)
    )
    (checkout / "file").write_text("ENC[AES256_GCM,data:AA==]\n" + text.format(newest))
    assert "  nothing in the checkout, which has 1 encrypted files;" in withdraw(project, only, "--repo", str(checkout))


def test_a_withdrawn_key_is_gone_and_whatever_names_it_is_listed(project, checkout):
    make(project)
    [old] = recipients(project)
    make(project)
    newest, _ = recipients(project)
    encrypted(checkout, "staging/a.yaml", newest, old)
    encrypted(checkout, "staging/b.yaml", newest)

    out = withdraw(project, old, "--repo", str(checkout))

    assert recipients(project) == [newest]
    assert out.splitlines() == [
        f"Took {old} out of Pulumi.staging.yaml: {AGE}.identities",
        "Next:",
        "  `pulumi preview` and `pulumi up`: from then on the cluster does not decrypt with it;",
        "  `make -s sops-config TENANT=dev-team > .sops.yaml` for the repository, so that `sops` knows it no more;",
        "  in the checkout, by somebody who can decrypt them, 1 of 2 encrypted files:",
        f"    sops rotate --in-place --rm-age {old} staging/a.yaml",
        "  whoever had it can still read what Git keeps of before: renew those secrets if it was lost.",
    ]


def test_an_openpgp_key_is_withdrawn_by_its_fingerprint(project):
    make(project, "--openpgp")
    path = ("tenants", "dev-team", "sync", "decryption", "openpgp", "fingerprints")
    [old] = project.said(*path)
    make(project, "--openpgp")

    out = withdraw(project, old)

    assert f"`sops rotate --in-place --rm-pgp {old} <file>`" in out
    assert old not in project.said(*path)
    assert len(project.said(*path)) == 1


@pytest.mark.parametrize(("arguments", "out_of"), [((), "age"), (("--openpgp",), "openpgp")])
def test_the_only_key_is_not_withdrawn(project, arguments, out_of):
    make(project, *arguments)
    kind = project.said("tenants", "dev-team", "sync", "decryption", out_of)
    [only] = kind.get("recipients") or kind.get("fingerprints")

    said = project.refused(sops_key.app, "dev-team", "--stack", "staging", "--withdraw", only)

    assert said.startswith(f"error: {only} is the only ")
    assert said.endswith(f"or take tenants.dev-team.sync.decryption.{out_of} out\n")


def test_a_key_that_is_not_there_is_not_withdrawn(project):
    assert "it has no age identity" in project.refused(
        sops_key.app, "dev-team", "--stack", "staging", "--withdraw", STRANGER
    )
    make(project)

    said = project.refused(sops_key.app, "dev-team", "--stack", "staging", "--withdraw", STRANGER)

    assert said == (
        f"error: the tenant dev-team has no key {STRANGER} in Pulumi.staging.yaml; it has {recipients(project)[0]}\n"
        "remedy: name one of those\n"
    )


def test_what_was_no_key_is_told_and_not_repeated(project):
    make(project)
    project.secrets["staging", f"{AGE}.identities"] = "pa55word"

    said = project.refused(sops_key.app, "dev-team", "--stack", "staging")

    assert said.startswith(f"error: Pulumi.staging.yaml: {AGE}.identities: has a line 1 that is no identity")
    assert "pa55word" not in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), f"error: whose key is it?\n{HOW}"),
        (("dev-team", "--platform"), f"error: name one of a tenant and the platform\n{HOW}"),
        (("dev-taem",), "error: Pulumi.staging.yaml lists no tenant dev-taem; it has dev-team, ops-team\n"),
        (("dev-team", "--openpgp", "--post-quantum"), "error: OpenPGP keys are not post-quantum\n"),
        (("dev-team", "--repo", "nowhere"), "error: there is no folder nowhere\n"),
    ],
)
def test_what_is_not_in_order_is_told_in_two_lines(project, arguments, said):
    assert project.refused(sops_key.app, *arguments, "--stack", "staging").startswith(said)
