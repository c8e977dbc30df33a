"""`flux-tenancy key deploy`: what it hands to Pulumi, what it writes and says, and that the private half is nowhere."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from commands import install_pulumi, invoke, refusal

from flux_tenancy.components.keys.ssh_keys import generate, read_private_key

STACK_FILE = """\
config:
  flux-tenancy:flux:
    sync:
      source:
        url: ssh://git@github.com/acme/fleet
        github: {repository: acme/fleet}
  flux-tenancy:tenants:
    # A comment stays where it is.
    dev-team:
    ops-team:
      source:
        github: {repository: acme/tools}
    web-team:
      source: {url: "https://git.example.com/web"}
      sync: {postBuild: {substitute: {tag: 1234e56, account: 0123456789}}}  # as Pulumi would not write them
    spy-team: {source: {url: "ssh://git:pa55word@git.example.com/spy"}}
    old-team:
      source:
        deployKey: # of 2024
          secure: v1:AAAA
    new-team: {}
"""
KEY_IS_THERE = STACK_FILE.replace("dev-team:\n", "dev-team: {source: {deployKey: {secure: v1:AAAA}}}\n")
BASE = "namespaces: [{name: apps}]\nsource:\n  url: ssh://git@git.example.com/dev-team/apps.git\n"
PULUMI = """\
#!/bin/sh
printf '%s\\n' "$@" > arguments-of-$2
if [ -f refusal ]; then cat refusal >&2; exit 255; fi
if [ "$2" = get ]; then cat kept; exit; fi
cat > stored
printf 'config:\\n  %s:\\n    secure: v1:CIPHER\\n' "$7" > "$5"
"""


@dataclass(frozen=True)
class Project:
    """A project with the stack `staging`, and a `pulumi` that writes down what it is to encrypt."""

    folder: Path

    def run(self, *arguments: str) -> tuple[int, str, str]:
        return invoke("key", "deploy", *arguments)

    def refused(self, *arguments: str) -> str:
        error = refusal(invoke("key", "deploy", *arguments))
        assert not (self.folder / "stored").exists()
        return error

    def at(self, path: str) -> object:
        """The value of the stack at a path that begins with a top-level key."""
        found = yaml.safe_load(self.read("Pulumi.staging.yaml"))["config"]
        for key in path.split("."):
            found = found[key]
        return found

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    (tmp_path / "Pulumi.yaml").write_text("name: flux-tenancy\n")
    (tmp_path / "tenants").mkdir()
    for tenant in ("dev-team", "ops-team", "web-team", "spy-team", "old-team"):
        (tmp_path / f"tenants/{tenant}.yaml").write_text(BASE)
    (tmp_path / "Pulumi.staging.yaml").write_text(STACK_FILE)
    install_pulumi(tmp_path, PULUMI, monkeypatch)
    return Project(tmp_path)


def test_the_key_goes_to_pulumi_on_standard_input_and_nowhere_else(project):
    code, out, error = project.run("dev-team", "--stack", "staging")
    key = read_private_key(project.read("stored"))

    assert (code, error) == (0, "")
    asked = project.read("arguments-of-set").splitlines()
    assert asked[:4] == ["config", "set", "--secret", "--config-file"]
    assert asked[5:] == ["--path", "flux-tenancy:encrypted", "--stack", "staging", "--non-interactive"]
    files = [file for file in project.folder.rglob("*") if file.is_file() and file.name != "stored"]
    secret_lines = key.private.splitlines()[1:-1]
    assert not [line for line in secret_lines for file in files if line in file.read_text()]
    assert not [line for line in secret_lines if line in out]


def test_a_host_that_takes_no_newer_type_gets_an_rsa_key(project):
    code, _, error = project.run("dev-team", "--stack", "staging", "--type", "rsa")

    assert (code, error) == (0, "")
    assert read_private_key(project.read("stored")).public.startswith("ssh-rsa ")


@pytest.mark.parametrize(
    ("tenant", "changed"),
    [
        ("dev-team", ["+ source:", "+   deployKey:", "+     secure: v1:CIPHER"]),
        ("ops-team", ["+ deployKey:", "+   secure: v1:CIPHER"]),
        ("old-team", ["- secure: v1:AAAA", "+ secure: v1:CIPHER"]),
    ],
)
def test_only_the_lines_of_the_key_change(project, tenant, changed):
    (project.folder / "kept").write_text(generate().private)

    code, _, error = project.run(tenant, "--stack", "staging")

    assert (code, error) == (0, "")
    lines = difflib.ndiff(STACK_FILE.splitlines(), project.read("Pulumi.staging.yaml").splitlines())
    found = [line for line in lines if line[0] in "-+"]
    indent = min(len(line[2:]) - len(line[2:].lstrip()) for line in found)
    assert [line[:2] + line[2 + indent :] for line in found] == changed


@pytest.mark.parametrize("plain", ["pa55word", "|\n          -----BEGIN\n          -----END"])
def test_a_key_in_plain_text_is_replaced(project, plain):
    (project.folder / "kept").write_text("pa55word")
    file = project.folder / "Pulumi.staging.yaml"
    file.write_text(STACK_FILE.replace("deployKey: # of 2024\n          secure: v1:AAAA", f"deployKey: {plain}"))

    code, _, error = project.run("old-team", "--stack", "staging")

    assert (code, error) == (0, "")
    assert project.at("flux-tenancy:tenants.old-team.source") == {"deployKey": {"secure": "v1:CIPHER"}}


def test_a_file_with_an_alias_is_to_be_edited_by_hand(project):
    file = project.folder / "Pulumi.staging.yaml"
    file.write_text(STACK_FILE.replace("new-team: {}", "new-team: &new {}\nextra: *new"))
    (project.folder / "tenants/new-team.yaml").write_text(BASE)
    before = file.read_text()

    code, out, error = project.run("new-team", "--stack", "staging")

    assert (code, out) == (2, "")
    assert error.startswith("error: Pulumi.staging.yaml: tenants.new-team.source.deployKey cannot be changed without")
    assert "(FT-OPS-300)\n" in error and file.read_text() == before


def test_a_key_to_be_added_by_hand_is_shown_by_its_public_half(project):
    _, out, _ = project.run("dev-team", "--stack", "staging")
    key = read_private_key(project.read("stored"))

    assert out.splitlines() == [
        "Stored a new ssh-ed25519 key of tenant dev-team, encrypted, in Pulumi.staging.yaml: "
        "tenants.dev-team.source.deployKey",
        f"Fingerprint: {key.fingerprint}",
        "Next: add this key with read access to the repository ssh://git@git.example.com/dev-team/apps.git:",
        f"  {key.public}",
        "then run `pulumi preview` and `pulumi up`.",
    ]


@pytest.mark.parametrize(
    ("arguments", "owner", "path", "repository"),
    [
        (["ops-team"], "tenant ops-team", "tenants.ops-team.source", "acme/tools"),
        (["--platform"], "the platform", "flux.sync.source", "acme/fleet"),
    ],
)
def test_a_key_that_the_program_registers_is_shown_only_by_its_fingerprint(project, arguments, owner, path, repository):
    _, out, _ = project.run(*arguments, "--stack", "staging")
    key = read_private_key(project.read("stored"))

    assert out.splitlines() == [
        f"Stored a new ssh-ed25519 key of {owner}, encrypted, in Pulumi.staging.yaml: {path}.deployKey",
        f"Fingerprint: {key.fingerprint}",
        f"Next: run `pulumi preview` and `pulumi up`, which registers it read-only at {repository}.",
    ]
    assert project.at(f"flux-tenancy:{path}.deployKey") == {"secure": "v1:CIPHER"}


def test_a_second_key_is_a_rotation_and_says_which_key_it_replaces(project):
    old = generate()
    (project.folder / "kept").write_text(old.private)
    (project.folder / "Pulumi.staging.yaml").write_text(KEY_IS_THERE)

    _, out, _ = project.run("dev-team", "--stack", "staging")

    assert "flux-tenancy:tenants.dev-team.source.deployKey" in project.read("arguments-of-get")
    lines = out.splitlines()
    assert lines[2] == f"Replaces:    {old.fingerprint}"
    assert lines[-1] == "then run `pulumi preview` and `pulumi up`, and then remove the previous key there."
    assert read_private_key(project.read("stored")).fingerprint != old.fingerprint


def test_a_second_key_that_the_program_registers_takes_two_updates(project):
    old = generate()
    (project.folder / "kept").write_text(old.private)
    with_key = STACK_FILE.replace(
        "ops-team:\n      source:", "ops-team:\n      source:\n        deployKey: {secure: v1:AAAA}"
    )
    (project.folder / "Pulumi.staging.yaml").write_text(with_key)

    _, out, _ = project.run("ops-team", "--stack", "staging")

    assert out.splitlines()[2:] == [
        f"Replaces:    {old.fingerprint}",
        "Next: run `pulumi preview` and `pulumi up`, which registers it read-only at acme/tools.",
        "The previous key stays registered until Flux has fetched with the new one; the next `pulumi up` removes it.",
    ]


def test_a_value_that_is_not_a_key_can_be_replaced(project):
    (project.folder / "kept").write_text("pa55word")
    (project.folder / "Pulumi.staging.yaml").write_text(KEY_IS_THERE)

    _, out, _ = project.run("dev-team", "--stack", "staging")

    assert "Replaces:    a value that is not a usable key\n" in out
    assert "pa55word" not in out


def test_a_key_adds_a_tenant_with_only_a_base_file_to_the_stack(project):
    (project.folder / "tenants/shop.yaml").write_text(BASE.replace("dev-team", "shop"))

    code, out, _ = project.run("shop", "--stack", "staging")

    assert code == 0
    added, stored = out.splitlines()[:2]
    assert all(each in added for each in ("shop", "Pulumi.staging.yaml", "tenants/shop.yaml"))
    assert stored.startswith("Stored a new ")
    assert project.at("flux-tenancy:tenants.shop") == {"source": {"deployKey": {"secure": "v1:CIPHER"}}}


@pytest.mark.parametrize(
    ("arguments", "code", "fields"),
    [
        (["--stack", "staging"], "FT-OPS-006", ["`flux-tenancy key deploy TENANT`"]),
        (["dev-team", "--platform", "--stack", "staging"], "FT-OPS-006", ["`flux-tenancy key deploy TENANT`"]),
        (
            ["marketing", "--stack", "staging"],
            "FT-OPS-004",
            [
                "Pulumi.staging.yaml",
                "dev-team, ops-team, web-team, spy-team, old-team, new-team",
                "`flux-tenancy tenant new`",
            ],
        ),
        (["dev-taem", "--stack", "staging"], "FT-OPS-004", ["Pulumi.staging.yaml", "did you mean 'dev-team'?"]),
        (["dev-team", "--stack", "production"], "FT-OPS-002", ["Pulumi.production.yaml", "`--stack`: staging"]),
        (["web-team", "--stack", "staging"], "FT-OPS-020", ["tenants.web-team.source.url", "git.example.com/web"]),
        (["spy-team", "--stack", "staging"], "FT-OPS-020", ["tenants.spy-team.source.url", "credentials"]),
    ],
)
def test_an_error_is_two_lines_with_a_code(project, arguments, code, fields):
    error, remedy = project.refused(*arguments).splitlines()

    assert error.startswith("error: ") and error.endswith(f" ({code})") and remedy.startswith("remedy: ")
    assert [field for field in fields if field not in f"{error}\n{remedy}"] == []


def test_a_tenant_without_a_base_file_is_an_error(project):
    assert project.refused("new-team", "--stack", "staging").startswith("error: tenants/new-team.yaml: ")


@pytest.mark.parametrize("sync", ["", "config:\n  flux-tenancy:flux: {profile: multi-tenant}\n"])
def test_a_stack_without_a_platform_repository_has_no_key_for_it(project, sync):
    (project.folder / "Pulumi.staging.yaml").write_text(sync)

    assert "Pulumi.staging.yaml has no flux.sync (FT-OPS-005)\n" in project.refused("--platform", "--stack", "staging")


def test_a_stack_without_tenants_lists_none(project):
    (project.folder / "Pulumi.staging.yaml").write_text("config:\n  flux-tenancy:tenants: {secure: v1:AAAA}\n")

    assert "listed: none (FT-OPS-004)\n" in project.refused("dev-team", "--stack", "staging")


@pytest.mark.parametrize(
    ("output", "code", "field"),
    [
        (
            "error: no stack named 'staging' found\n",
            "FT-OPS-011",
            "#a-stack-or-the-project-is-renamed); create a new one with `pulumi stack init staging`",
        ),
        (
            "error: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE\n",
            "FT-OPS-012",
            "PULUMI_CONFIG_PASSPHRASE_FILE",
        ),
        (
            "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions\n",
            "FT-OPS-013",
            "`pulumi login`",
        ),
        (
            "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete "
            "the lock file with `pulumi cancel`.\n  file:///x.json: created by me@laptop (pid 4242) at 2026\n",
            "FT-OPS-340",
            "me@laptop (pid 4242)",
        ),
        (
            "error: [409] Conflict: Another update is currently in progress.\n",
            "FT-OPS-340",
            "`pulumi cancel --stack staging`",
        ),
        (
            "Logging in using access token from PULUMI_ACCESS_TOKEN\nerror: [400] Bad Request: Stack is invalid\n",
            "FT-OPS-014",
            ": [400] Bad Request: Stack is invalid (FT",
        ),
        (
            "error: this command requires logging in; try running `pulumi login` first\n",
            "FT-OPS-013",
            "remedy: run `pulumi login`\n",
        ),
        ("error: failed to load checkpoint: EOF\n", "FT-OPS-341", "docs/troubleshooting.md"),
        ("warning: old\nerror: the disk is full\n\n", "FT-OPS-014", ": the disk is full (FT"),
        ("", "FT-OPS-014", "it gives no reason (FT"),
    ],
)
def test_an_error_of_pulumi_is_explained(project, output, code, field):
    (project.folder / "refusal").write_text(output)

    said = project.refused("dev-team", "--stack", "staging")

    assert f" ({code})\nremedy: " in said and field in said


def test_in_a_renamed_project_the_key_goes_to_its_own_keys(project):
    (project.folder / "Pulumi.yaml").write_text("name: platform\n")
    (project.folder / "Pulumi.staging.yaml").write_text(STACK_FILE.replace("flux-tenancy:", "platform:"))

    code, _, error = project.run("dev-team", "--stack", "staging")

    assert (code, error) == (0, "")
    assert project.at("platform:tenants.dev-team.source.deployKey") == {"secure": "v1:CIPHER"}


def test_a_renamed_project_reports_the_keys_of_the_old_name(project):
    (project.folder / "Pulumi.yaml").write_text("name: platform\n")

    count, flux, tenants, remedy = project.refused("dev-team", "--stack", "staging").splitlines()

    assert count == "error: 2 errors:"
    assert flux.startswith("  Pulumi.staging.yaml: flux-tenancy:flux: ")
    assert tenants.startswith("  Pulumi.staging.yaml: flux-tenancy:tenants: ")
    assert remedy.startswith("remedy: ")


@pytest.mark.parametrize(
    ("text", "problem"), [(None, "there is no Pulumi.yaml in "), ("runtime: python\n", "Pulumi.yaml: name: ")]
)
def test_a_folder_without_a_project_is_an_error(project, text, problem):
    (project.folder / "Pulumi.yaml").unlink()
    if text is not None:
        (project.folder / "Pulumi.yaml").write_text(text)

    assert project.refused("dev-team", "--stack", "staging").startswith(f"error: {problem}")


def test_a_machine_without_pulumi_is_an_error(project, monkeypatch):
    monkeypatch.setenv("PATH", str(project.folder))

    assert "(FT-OPS-010)\nremedy: " in project.refused("dev-team", "--stack", "staging")
