"""`make deploy-key`: what it hands to Pulumi, what it says, and that the private half is nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from components.keys.ssh_keys import generate, read_private_key
from operations import deploy_key

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
    web-team: {source: {url: "https://git.example.com/web"}}
    spy-team: {source: {url: "ssh://git:pa55word@git.example.com/spy"}}
    new-team: {}
"""
KEY_IS_THERE = STACK_FILE.replace("dev-team:\n", "dev-team: {source: {deployKey: {secure: v1:AAAA}}}\n")
BASE = "namespaces: [{name: apps}]\nsource:\n  url: ssh://git@git.example.com/dev-team/apps.git\n"
PULUMI = """\
#!/bin/sh
printf '%s\\n' "$@" > arguments-of-$2
if [ -f refusal ]; then cat refusal >&2; exit 255; fi
if [ "$2" = get ]; then cat kept; else cat > stored; fi
"""
HOW = "remedy: `make deploy-key TENANT=… STACK=…`, or PLATFORM=1 for the platform's own repository\n"


@dataclass(frozen=True)
class Project:
    """A project with the stack `staging`, and a `pulumi` that writes down what it is asked for."""

    folder: Path

    def run(self, *arguments: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(deploy_key.app, arguments)
        assert done.exception is None or isinstance(done.exception, SystemExit)
        return done.exit_code, done.stdout, done.stderr

    def refused(self, *arguments: str) -> str:
        code, out, error = self.run(*arguments)
        assert (code, out) == (1, "")
        assert not (self.folder / "stored").exists()
        return error

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    (tmp_path / "Pulumi.yaml").write_text("name: flux-tenancy\n")
    (tmp_path / "tenants").mkdir()
    for tenant in ("dev-team", "ops-team", "web-team", "spy-team"):
        (tmp_path / f"tenants/{tenant}.yaml").write_text(BASE)
    (tmp_path / "Pulumi.staging.yaml").write_text(STACK_FILE)
    program = tmp_path / "bin" / "pulumi"
    program.parent.mkdir()
    program.write_text(PULUMI)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr(deploy_key, "PROJECT", tmp_path)
    return Project(tmp_path)


def test_the_key_goes_to_pulumi_on_standard_input_and_nowhere_else(project):
    code, out, error = project.run("dev-team", "--stack", "staging")
    key = read_private_key(project.read("stored"))

    assert (code, error) == (0, "")
    assert project.read("arguments-of-set").splitlines() == [
        "config",
        "set",
        "--secret",
        "--path",
        "flux-tenancy:tenants.dev-team.source.deployKey",
        "--stack",
        "staging",
        "--non-interactive",
    ]
    files = [file for file in project.folder.rglob("*") if file.is_file() and file.name != "stored"]
    secret_lines = key.private.splitlines()[1:-1]
    assert not [line for line in secret_lines for file in files if line in file.read_text()]
    assert not [line for line in secret_lines if line in out]


def test_a_key_that_nobody_registers_is_shown_by_its_public_half_and_where_to_add_it(project):
    _, out, _ = project.run("dev-team", "--stack", "staging")
    key = read_private_key(project.read("stored"))

    assert out.splitlines() == [
        "Stored a new ssh-ed25519 key of the tenant dev-team, encrypted, in Pulumi.staging.yaml: "
        "tenants.dev-team.source.deployKey",
        f"Fingerprint: {key.fingerprint}",
        "Next: let this key read, and only read, the repository ssh://git@git.example.com/dev-team/apps.git, "
        "since nobody else does it:",
        f"  {key.public}",
        "then `pulumi preview` and `pulumi up`.",
    ]


@pytest.mark.parametrize(
    ("arguments", "owner", "path", "repository"),
    [
        (["ops-team"], "the tenant ops-team", "tenants.ops-team.source", "acme/tools"),
        (["--platform"], "the platform", "flux.sync.source", "acme/fleet"),
    ],
)
def test_of_a_key_that_the_program_registers_only_the_fingerprint_is_shown(project, arguments, owner, path, repository):
    _, out, _ = project.run(*arguments, "--stack", "staging")
    key = read_private_key(project.read("stored"))

    assert out.splitlines() == [
        f"Stored a new ssh-ed25519 key of {owner}, encrypted, in Pulumi.staging.yaml: {path}.deployKey",
        f"Fingerprint: {key.fingerprint}",
        f"Next: `pulumi preview` and `pulumi up`, which registers it, read-only, at {repository}.",
    ]
    assert f"flux-tenancy:{path}.deployKey" in project.read("arguments-of-set")


def test_a_second_key_is_a_rotation_and_says_which_key_it_replaces(project):
    old = generate()
    (project.folder / "kept").write_text(old.private)
    (project.folder / "Pulumi.staging.yaml").write_text(KEY_IS_THERE)

    _, out, _ = project.run("dev-team", "--stack", "staging")

    assert "flux-tenancy:tenants.dev-team.source.deployKey" in project.read("arguments-of-get")
    lines = out.splitlines()
    assert lines[2] == f"Replaces:    {old.fingerprint}"
    assert lines[-1] == "then `pulumi preview` and `pulumi up`; remove the old key there after it."
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
        "Next: `pulumi preview` and `pulumi up`, which registers it, read-only, at acme/tools.",
        "The old key stays registered until Flux has fetched with the new one; the next `pulumi up` removes it.",
    ]


def test_what_was_no_key_can_be_replaced_too(project):
    (project.folder / "kept").write_text("pa55word")
    (project.folder / "Pulumi.staging.yaml").write_text(KEY_IS_THERE)

    _, out, _ = project.run("dev-team", "--stack", "staging")

    assert "Replaces:    a value that is no usable key\n" in out
    assert "pa55word" not in out


def test_a_key_lists_a_tenant_that_has_only_a_base_yet(project):
    (project.folder / "tenants/shop.yaml").write_text(BASE.replace("dev-team", "shop"))

    code, out, _ = project.run("shop", "--stack", "staging")

    assert code == 0
    assert out.startswith("Listed the tenant shop in Pulumi.staging.yaml, as tenants/shop.yaml has it\nStored a new ")
    assert "tenants.shop.source.deployKey" in project.read("arguments-of-set")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stack", "staging"], f"error: whose key is it?\n{HOW}"),
        (["dev-team", "--platform", "--stack", "staging"], f"error: name one of a tenant and the platform\n{HOW}"),
        (
            ["dev-taem", "--stack", "staging"],
            "error: Pulumi.staging.yaml lists no tenant dev-taem; it has dev-team, ops-team, web-team, spy-team, "
            "new-team\nremedy: add `dev-taem: {}` below flux-tenancy:tenants first\n",
        ),
        (
            ["dev-team", "--stack", "production"],
            "error: there is no Pulumi.production.yaml for a stack production\n"
            "remedy: name one that is described: STACK=staging\n",
        ),
        (
            ["new-team", "--stack", "staging"],
            "error: tenants/new-team.yaml: does not exist, but Pulumi.staging.yaml lists the tenant new-team; "
            "write the tenant's base there\nremedy: mend that first\n",
        ),
        (
            ["web-team", "--stack", "staging"],
            "error: tenants.web-team.source.url: 'https://git.example.com/web' does not begin with ssh://\n"
            "remedy: name the repository first, like ssh://git@git.example.com/team/repository\n",
        ),
        (
            ["spy-team", "--stack", "staging"],
            "error: tenants.spy-team.source.url: holds credentials; take them out, they would be readable in the "
            "cluster and in the state\nremedy: name the repository first, like ssh://git@git.example.com/team/repository\n",
        ),
    ],
)
def test_what_is_not_in_order_is_told_in_two_lines(project, arguments, said):
    assert project.refused(*arguments) == said


@pytest.mark.parametrize("sync", ["", "config:\n  flux-tenancy:flux: {version: 2.9.5}\n"])
def test_a_stack_without_a_platform_repository_has_no_key_for_it(project, sync):
    (project.folder / "Pulumi.staging.yaml").write_text(sync)

    assert project.refused("--platform", "--stack", "staging") == (
        "error: Pulumi.staging.yaml has no flux.sync\nremedy: write flux.sync.source.url there first\n"
    )


def test_a_stack_without_tenants_lists_none(project):
    (project.folder / "Pulumi.staging.yaml").write_text("config:\n  flux-tenancy:tenants: {secure: v1:AAAA}\n")

    assert "lists no tenant dev-team; it has none\n" in project.refused("dev-team", "--stack", "staging")


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (
            "error: no stack named 'staging' found\n",
            "error: Pulumi has no stack staging\n"
            "remedy: `pulumi stack ls` lists them, `pulumi stack init staging` makes one\n",
        ),
        (
            "error: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE\n",
            "error: the stack staging is encrypted with another passphrase, or none is set\n"
            "remedy: set PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE to the path of a file with it\n",
        ),
        (
            "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions\n",
            "error: Pulumi does not know where the state is\nremedy: `pulumi login` to the stack's backend\n",
        ),
        (
            "warning: old\nerror: the disk is full\n\n",
            "error: Pulumi refused: the disk is full\n"
            "remedy: see whether `pulumi config --stack staging` works in the project's folder\n",
        ),
        (
            "",
            "error: Pulumi refused: it does not say why\n"
            "remedy: see whether `pulumi config --stack staging` works in the project's folder\n",
        ),
    ],
)
def test_what_pulumi_refuses_is_told_with_what_to_do(project, output, said):
    (project.folder / "refusal").write_text(output)

    assert project.refused("dev-team", "--stack", "staging") == said


def test_in_a_renamed_project_the_key_goes_to_its_own_keys(project):
    (project.folder / "Pulumi.yaml").write_text("name: platform\n")
    (project.folder / "Pulumi.staging.yaml").write_text(STACK_FILE.replace("flux-tenancy:", "platform:"))

    code, _, error = project.run("dev-team", "--stack", "staging")

    assert (code, error) == (0, "")
    assert "platform:tenants.dev-team.source.deployKey" in project.read("arguments-of-set").splitlines()


def test_a_renamed_project_does_not_take_the_keys_of_the_old_one_for_its_own(project):
    (project.folder / "Pulumi.yaml").write_text("name: platform\n")

    assert project.refused("dev-team", "--stack", "staging") == (
        "error: "
        "Pulumi.staging.yaml: flux-tenancy:flux: belongs to a project flux-tenancy, and this one is platform; "
        "write platform:flux; "
        "Pulumi.staging.yaml: flux-tenancy:tenants: belongs to a project flux-tenancy, and this one is platform; "
        "write platform:tenants\n"
        "remedy: mend that first\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "Pulumi.yaml: cannot be read: No such file or directory"),
        ("runtime: python\n", "Pulumi.yaml: name: is required and missing"),
    ],
)
def test_a_folder_that_is_no_project_is_told(project, text, said):
    (project.folder / "Pulumi.yaml").unlink()
    if text is not None:
        (project.folder / "Pulumi.yaml").write_text(text)

    assert project.refused("dev-team", "--stack", "staging") == f"error: {said}\nremedy: mend that first\n"


def test_a_machine_without_pulumi_is_told(project, monkeypatch):
    monkeypatch.setenv("PATH", str(project.folder))

    assert project.refused("dev-team", "--stack", "staging") == (
        "error: pulumi is not on PATH\n"
        "remedy: install the Pulumi CLI, or begin with `make up` where the stack is one of the lab\n"
    )
