"""`flux-tenancy key deploy`: what it hands to Pulumi, what it writes and says, and that the private half is nowhere."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from commands import install_pulumi, invoke, refusal, told

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

    def told(self, *arguments: str) -> str:
        """What the command prints for the stack."""
        return told(invoke("key", "deploy", *arguments, "--stack", "staging"))

    def refused(self, *arguments: str) -> str:
        error = refusal(invoke("key", "deploy", *arguments, "--stack", "staging"))
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

    def stack_is(self, text: str) -> None:
        (self.folder / "Pulumi.staging.yaml").write_text(text)


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
    out = project.told("dev-team")
    key = read_private_key(project.read("stored"))

    asked = project.read("arguments-of-set").splitlines()
    assert asked[:4] == ["config", "set", "--secret", "--config-file"]
    assert asked[5:] == ["--path", "flux-tenancy:encrypted", "--stack", "staging", "--non-interactive"]
    files = [file for file in project.folder.rglob("*") if file.is_file() and file.name != "stored"]
    secret_lines = key.private.splitlines()[1:-1]
    assert not [line for line in secret_lines for file in files if line in file.read_text()]
    assert not [line for line in secret_lines if line in out]


def test_a_host_that_takes_no_newer_type_gets_an_rsa_key(project):
    project.told("dev-team", "--type", "rsa")

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

    project.told(tenant)

    lines = difflib.ndiff(STACK_FILE.splitlines(), project.read("Pulumi.staging.yaml").splitlines())
    found = [line for line in lines if line[0] in "-+"]
    indent = min(len(line[2:]) - len(line[2:].lstrip()) for line in found)
    assert [line[:2] + line[2 + indent :] for line in found] == changed


@pytest.mark.parametrize("plain", ["pa55word", "|\n          -----BEGIN\n          -----END"])
def test_a_key_in_plain_text_is_replaced(project, plain):
    (project.folder / "kept").write_text("pa55word")
    project.stack_is(STACK_FILE.replace("deployKey: # of 2024\n          secure: v1:AAAA", f"deployKey: {plain}"))

    project.told("old-team")

    assert project.at("flux-tenancy:tenants.old-team.source") == {"deployKey": {"secure": "v1:CIPHER"}}


def test_a_file_with_an_alias_is_to_be_edited_by_hand(project):
    before = STACK_FILE.replace("new-team: {}", "new-team: &new {}\nextra: *new")
    project.stack_is(before)
    (project.folder / "tenants/new-team.yaml").write_text(BASE)

    error = refusal(invoke("key", "deploy", "new-team", "--stack", "staging"))

    assert error.startswith("error: Pulumi.staging.yaml: tenants.new-team.source.deployKey cannot be changed without")
    assert "(FT-OPS-300)\n" in error and project.read("Pulumi.staging.yaml") == before


def test_a_key_to_be_added_by_hand_is_shown_by_its_public_half(project):
    out = project.told("dev-team")
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
    out = project.told(*arguments)
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
    project.stack_is(KEY_IS_THERE)

    out = project.told("dev-team")

    assert "flux-tenancy:tenants.dev-team.source.deployKey" in project.read("arguments-of-get")
    lines = out.splitlines()
    assert lines[2] == f"Replaces:    {old.fingerprint}"
    assert lines[-1] == "then run `pulumi preview` and `pulumi up`, and then remove the previous key there."
    assert read_private_key(project.read("stored")).fingerprint != old.fingerprint


def test_a_second_key_that_the_program_registers_takes_two_updates(project):
    old = generate()
    (project.folder / "kept").write_text(old.private)
    of_tools = "github: {repository: acme/tools}\n"
    project.stack_is(STACK_FILE.replace(of_tools, f"{of_tools}        deployKey: {{secure: v1:AAAA}}\n"))

    out = project.told("ops-team")

    assert out.splitlines()[2:] == [
        f"Replaces:    {old.fingerprint}",
        "Next: run `pulumi preview` and `pulumi up`, which registers it read-only at acme/tools.",
        "The previous key stays registered until Flux has fetched with the new one; the next `pulumi up` removes it.",
    ]


def test_a_value_that_is_not_a_key_can_be_replaced(project):
    (project.folder / "kept").write_text("pa55word")
    project.stack_is(KEY_IS_THERE)

    out = project.told("dev-team")

    assert "Replaces:    a value that is not a usable key\n" in out
    assert "pa55word" not in out


def test_a_key_adds_a_tenant_with_only_a_base_file_to_the_stack(project):
    (project.folder / "tenants/shop.yaml").write_text(BASE.replace("dev-team", "shop"))

    added, stored, *_ = project.told("shop").splitlines()

    assert all(each in added for each in ("shop", "Pulumi.staging.yaml", "tenants/shop.yaml"))
    assert stored.startswith("Stored a new ")
    assert project.at("flux-tenancy:tenants.shop") == {"source": {"deployKey": {"secure": "v1:CIPHER"}}}


@pytest.mark.parametrize(
    ("arguments", "code", "fields"),
    [
        ([], "FT-OPS-006", ["`flux-tenancy key deploy TENANT`"]),
        (["dev-team", "--platform"], "FT-OPS-006", ["`flux-tenancy key deploy TENANT`"]),
        (
            ["marketing"],
            "FT-OPS-004",
            ["Pulumi.staging.yaml", "dev-team, ops-team, web-team, spy-team, old-team, new-team", "tenant new`"],
        ),
        (["dev-taem"], "FT-OPS-004", ["Pulumi.staging.yaml", "did you mean 'dev-team'?"]),
        (["web-team"], "FT-OPS-020", ["tenants.web-team.source.url", "git.example.com/web"]),
        (["spy-team"], "FT-OPS-020", ["tenants.spy-team.source.url", "credentials"]),
    ],
)
def test_an_error_is_two_lines_with_a_code(project, arguments, code, fields):
    error, remedy = project.refused(*arguments).splitlines()

    assert error.startswith("error: ") and error.endswith(f" ({code})") and remedy.startswith("remedy: ")
    assert [field for field in fields if field not in f"{error}\n{remedy}"] == []


def test_a_tenant_without_a_base_file_is_an_error(project):
    assert project.refused("new-team").startswith("error: tenants/new-team.yaml: ")


NO_SYNC = "Pulumi.staging.yaml has no flux.sync (FT-OPS-005)\n"


@pytest.mark.parametrize(
    ("stack", "whose", "says"),
    [
        ("", "--platform", NO_SYNC),
        ("config:\n  flux-tenancy:flux: {profile: multi-tenant}\n", "--platform", NO_SYNC),
        ("config:\n  flux-tenancy:tenants: {secure: v1:AAAA}\n", "dev-team", "listed: none (FT-OPS-004)\n"),
    ],
)
def test_a_stack_without_a_platform_repository_or_tenants_has_no_key_for_them(project, stack, whose, says):
    project.stack_is(stack)

    assert says in project.refused(whose)


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
    ],
)
def test_an_error_of_pulumi_is_explained(project, output, code, field):
    (project.folder / "refusal").write_text(output)

    said = project.refused("dev-team")

    assert f" ({code})\nremedy: " in said and field in said


def test_in_a_renamed_project_the_key_goes_to_its_own_keys(project):
    (project.folder / "Pulumi.yaml").write_text("name: platform\n")
    project.stack_is(STACK_FILE.replace("flux-tenancy:", "platform:"))

    project.told("dev-team")

    assert project.at("platform:tenants.dev-team.source.deployKey") == {"secure": "v1:CIPHER"}


def test_a_renamed_project_reports_the_keys_of_the_old_name(project):
    (project.folder / "Pulumi.yaml").write_text("name: platform\n")

    count, flux, tenants, remedy = project.refused("dev-team").splitlines()

    assert count == "error: 2 errors:"
    assert flux.startswith("  Pulumi.staging.yaml: flux-tenancy:flux: ")
    assert tenants.startswith("  Pulumi.staging.yaml: flux-tenancy:tenants: ")
    assert remedy.startswith("remedy: ")


def test_a_project_without_a_name_is_an_error(project):
    (project.folder / "Pulumi.yaml").write_text("runtime: python\n")

    assert project.refused("dev-team").startswith("error: Pulumi.yaml: name: ")


def test_a_machine_without_pulumi_is_an_error(project, monkeypatch):
    monkeypatch.setenv("PATH", str(project.folder))

    assert "(FT-OPS-010)\nremedy: " in project.refused("dev-team")
