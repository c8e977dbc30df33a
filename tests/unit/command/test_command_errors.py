"""Every command, with each kind of wrong input: one error with its code, nothing on standard output, no file written.

The commands are those of the program itself; each has a case, and a command without one fails the first test.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from commands import Ran, invoke, refusal, told
from sample_state import RESOURCES
from tenants_project import write_tenants_project
from typer.main import get_command
from typer.testing import CliRunner

from flux_tenancy.command.app import app, main
from flux_tenancy.command.program import MEANINGS, ExitCode
from flux_tenancy.operations.tenants import overview

STACK, TENANT = "staging", "dev-team"


@dataclass(frozen=True)
class Case:
    """A command, and its answer to what it cannot do.

    Attributes:
        arguments: what it needs beside `--stack`, so that it does its work; `dev-team` is replaced by another tenant.
        no_stack: code of the error if none of several stacks is named; empty if it then covers all, or needs none.
        unknown_stack: code of the error for a stack without a file; empty if that is no error, as in a comparison.
        unknown_tenant: code of the error for a tenant that no stack lists; empty if it takes no tenant.
        other_tenant: that tenant.
        no_project: code of the error outside of a project; empty if it works everywhere.
        no_cluster: code of the error without a cluster; empty if it needs none.
        is_report: whether it ends well without a cluster, and reports the error.
    """

    arguments: tuple[str, ...] = ()
    no_stack: str = "FT-CMD-002"
    unknown_stack: str = "FT-OPS-002"
    unknown_tenant: str = ""
    other_tenant: str = "no-such-team"
    no_project: str = "FT-CMD-001"
    no_cluster: str = ""
    is_report: bool = False


URL = "https://git.example.com/shop"
CASES = {
    "ci approved": Case(("--commit", "0" * 40, "--out", "out"), no_stack="", unknown_stack="", no_project=""),
    "ci comment": Case(("--run", "1"), no_project=""),
    "ci drift-issue": Case(("--run", "1"), no_stack="", unknown_stack="", no_project=""),
    "ci redact": Case(("--drift", "Pulumi.yaml", "--file", "out.json"), no_stack="", unknown_stack="", no_project=""),
    "ci release-pull-request": Case(("--body-file", "Pulumi.yaml")),
    "ci stacks": Case(),
    "drift repair": Case(no_cluster="FT-CFG-020"),
    "drift show": Case(no_cluster="FT-CFG-020"),
    "fleet matrix": Case(no_stack="", unknown_stack=""),
    "fleet operator": Case(("--repository", URL), no_stack="", unknown_stack=""),
    "fleet up": Case(no_stack="", unknown_stack=""),
    "isolation": Case(no_stack="", no_cluster="FT-CFG-020"),
    "key deploy": Case((TENANT,), unknown_tenant="FT-OPS-004"),
    "key sops": Case((TENANT,), unknown_tenant="FT-OPS-004"),
    "key sops-config": Case((TENANT,), unknown_tenant="FT-OPS-036"),
    "monitoring export": Case(("out",)),
    "releases update": Case(no_stack=""),
    "review access": Case((TENANT,), unknown_tenant="FT-OPS-004"),
    "review diff": Case(no_stack="", unknown_stack=""),
    "review policy": Case(no_stack=""),
    "review render": Case(("--out", "out"), no_stack=""),
    "tenant envelope": Case((TENANT,), unknown_tenant="FT-OPS-004"),
    "tenant list": Case(("--no-policies",), no_stack="", no_cluster="FT-CFG-020", is_report=True),
    "tenant page": Case(("/dev/null", "--no-policies"), no_stack=""),
    "tenant new": Case(("shop", "--repo", URL, "--no-preview"), unknown_tenant="FT-CFG-006", other_tenant="No_Name"),
    "tenant offboard": Case((TENANT, "--no-preview"), unknown_tenant="FT-OPS-004", no_cluster="FT-OPS-310"),
    "tenant show": Case((TENANT,), no_stack="", unknown_tenant="FT-OPS-004", no_cluster="FT-CFG-020", is_report=True),
    "tenant violations": Case(no_cluster="FT-CFG-020"),
    "new": Case(("my-platform",), no_stack="", unknown_stack="", no_project=""),
    "review build-admission": Case(no_stack="", unknown_stack="", no_project=""),
    "schemas": Case(no_stack="", unknown_stack=""),
    "up": Case(("--yes",), no_cluster="FT-CFG-020"),
}
FOREIGN = ("BRANCH", "NAME", "NAMESPACE", "TENANT", "STACK", "STACKS", "COMMIT", "OUT", "OUTPUT", "REPO")
"""Variables that shells and CI systems set for purposes of their own."""
# Exports the state; encrypts to a value that is always the same; has no other secrets.
PULUMI = """\
#!/bin/sh
case "$1 $2" in
"stack export") cat "${0%/*}/state.json" ;;
"config set")
  cat > /dev/null
  [ "$4" != --config-file ] || printf 'config:\\n  flux-tenancy:encrypted:\\n    secure: v1:CIPHER\\n' > "$5" ;;
esac
"""
# Keys, and the folder of the project.
_RANDOM = re.compile(r"SHA256:\S+|ssh-ed25519 \S+|age1\w+|/\S+/(?:project|lab|copy|other)\b")
_RECIPIENT = re.compile(rb"age1\w+")


def _commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each command by its name without that of the program."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, each in command.commands.items():
        yield from _commands(each, f"{path} {name}".strip())


COMMANDS = dict(_commands(get_command(app)))
# It works in a tenant's repository, with an envelope: tests/unit/extensions/tenant_check.
del COMMANDS["check"]
KNOWN = sorted(COMMANDS.keys() & CASES.keys())
WITH_STACK = [name for name in KNOWN if any(each.name == "stack" for each in COMMANDS[name].params)]


def run(name: str, *, stack: str = STACK, tenant: str = TENANT, more: tuple[str, ...] = ()) -> Ran:
    """Run a command as its case says; what it prints comes without keys, which are random, and paths of the test."""
    case = CASES[name]
    known = "shop" if name == "tenant new" else TENANT
    arguments = [case.other_tenant if each == known and tenant != TENANT else each for each in case.arguments]
    stacks = ["--stack", stack] if name in WITH_STACK and stack else []
    ran = invoke(*name.split(), *arguments, *stacks, *more)
    return Ran(ran.code, _RANDOM.sub("…", ran.out), _RANDOM.sub("…", ran.error))


def files(folder: Path) -> dict[Path, bytes]:
    """The content of each file, without recipients, which are random."""
    found = [file for file in folder.rglob("*") if file.is_file()]
    return {file.relative_to(folder): _RECIPIENT.sub(b"age1", file.read_bytes()) for file in found}


def is_refused(ended: Ran, code: str) -> None:
    """Check that a command has ended with one error that has this code."""
    assert (ended.code, ended.out) == (ExitCode.FAILED, "")
    assert len(re.findall("^error: ", ended.error, re.MULTILINE)) == 1 and ended.error.startswith("error: ")
    assert f"({code})" in ended.error
    assert "Traceback" not in ended.error


def refused(folder: Path, code: str, name: str, **how: Any) -> str:
    """What a command says that is refused with this code, and changes no file of the folder."""
    before = files(folder)
    ended = run(name, **how)
    is_refused(ended, code)
    assert files(folder) == before
    return ended.error


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A project with the stacks staging and production, in which the test runs."""
    for name in ("PULUMI_STACK", "PULUMI_OPTION_CWD", "FLUX_TENANCY_APPROVED", *FOREIGN):
        monkeypatch.delenv(name, raising=False)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "pulumi").write_text(PULUMI)
    (programs / "pulumi").chmod(0o755)
    (programs / "state.json").write_text(json.dumps({"deployment": {"resources": RESOURCES}}))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    folder = write_tenants_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    return folder


def test_each_command_has_a_case():
    assert sorted(COMMANDS) == sorted(CASES)


@pytest.mark.parametrize("name", WITH_STACK)
@pytest.mark.parametrize("stack", ["..", "a;b", "acme/../staging"])
def test_a_name_that_no_stack_may_have(project, name, stack):
    refused(project, "FT-CFG-630", name, stack=stack)


@pytest.mark.parametrize("name", [name for name in WITH_STACK if CASES[name].unknown_stack])
def test_a_stack_that_does_not_exist(project, name, monkeypatch):
    """It is refused before any other program runs."""
    monkeypatch.setenv("PATH", "/nowhere")

    refused(project, CASES[name].unknown_stack, name, stack="prod")


@pytest.mark.parametrize("name", WITH_STACK)
@pytest.mark.parametrize("prefix", ["acme/", "acme/flux-tenancy/"])
def test_a_stack_with_its_organization_and_project_is_the_same(project, name, prefix, monkeypatch):
    """Files, renders, approvals and comparisons go by the last part; only Pulumi needs the rest."""

    def plain(text: str) -> str:
        """A text without the name's first parts and without blanks and lines, which in a table depend on it."""
        return re.sub(r"[\s─]+", " ", text.replace(prefix + STACK, STACK))

    copy = write_tenants_project(project.parent / "copy")
    ended = run(name)
    monkeypatch.chdir(copy)
    qualified = run(name, stack=f"{prefix}{STACK}")

    assert Ran(qualified.code, plain(qualified.out), plain(qualified.error)) == Ran(
        ended.code, plain(ended.out), plain(ended.error)
    )
    assert files(project) == files(copy)


@pytest.mark.parametrize("name", [name for name in WITH_STACK if CASES[name].unknown_stack])
def test_a_stack_of_another_project(project, name):
    refused(project, "FT-OPS-009", name, stack=f"acme/shop/{STACK}")


@pytest.mark.parametrize("name", [name for name in KNOWN if CASES[name].unknown_tenant])
def test_a_tenant_that_does_not_exist(project, name):
    refused(project, CASES[name].unknown_tenant, name, tenant="another")


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("more", [("--no-such-option",), ("STACK=staging", "more")])
def test_an_option_or_argument_that_does_not_exist(project, name, more):
    refused(project, "FT-CMD-003", name, more=more)


@pytest.mark.parametrize("name", [name for name in KNOWN if CASES[name].no_project])
def test_outside_of_a_project(project, name, monkeypatch):
    folder = project.parent / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)

    refused(project.parent, CASES[name].no_project, name)


@pytest.mark.parametrize("name", [name for name in KNOWN if CASES[name].no_cluster])
def test_without_a_cluster(project, name):
    case, before = CASES[name], files(project)

    ended = run(name)

    assert files(project) == before
    if case.is_report:
        assert (ended.code, ended.error) == (ExitCode.OK, "") and f"({case.no_cluster})" in ended.out
    else:
        is_refused(ended, case.no_cluster)


@pytest.mark.parametrize("name", [name for name in KNOWN if CASES[name].is_report])
def test_a_report_without_a_cluster_is_a_finding_on_request(project, name):
    assert run(name, more=("--exit-code",)).code == ExitCode.FOUND


@pytest.mark.parametrize("name", [name for name in KNOWN if CASES[name].no_project])
def test_in_a_second_lab(project, name, monkeypatch):
    """PULUMI_OPTION_CWD names its project folder; `make env` exports it."""
    lab, copy = (write_tenants_project(project.parent / each, stacks=("eu-1", "eu-2")) for each in ("lab", "copy"))
    before = files(project)
    monkeypatch.setenv("PULUMI_OPTION_CWD", str(lab))
    unknown = run(name)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PULUMI_OPTION_CWD", str(lab))
    ended = run(name, stack="eu-1")
    monkeypatch.delenv("PULUMI_OPTION_CWD", raising=False)
    monkeypatch.chdir(copy)

    if name in WITH_STACK and CASES[name].unknown_stack:
        is_refused(unknown, CASES[name].unknown_stack)
        assert "eu-1 or eu-2" in unknown.error
    assert ended == run(name, stack="eu-1")
    assert files(lab) == files(copy) and files(project) == before


@pytest.mark.parametrize("name", KNOWN)
def test_variables_of_the_callers_environment_change_nothing(project, name, monkeypatch):
    other = write_tenants_project(project.parent / "other")
    ended = run(name, stack="")
    with_stack = run(name)
    monkeypatch.chdir(other)
    for variable in FOREIGN:
        monkeypatch.setenv(variable, {"STACKS": '["production"]', "STACK": "production"}.get(variable, "release"))

    assert (run(name, stack=""), run(name)) == (ended, with_stack)
    assert files(other) == files(project)


def test_no_option_reads_a_variable_of_others():
    read = {each.envvar for command in COMMANDS.values() for each in command.params if each.envvar}
    root = {each.envvar for each in get_command(app).params if each.envvar}

    assert (read, root) == (set(), {"PULUMI_OPTION_CWD"})


OFFBOARD = ("tenant", "offboard", TENANT, "--no-backup", "--no-preview")


def leaving(project: Path) -> list[str]:
    """The stacks that the tenant leaves."""
    return sorted(file.name.split(".")[1] for file in project.glob("Pulumi.*.yaml") if "leaving" in file.read_text())


def test_the_shells_stack_is_the_default_unless_one_is_named(project, monkeypatch):
    monkeypatch.setenv("PULUMI_STACK", "production")

    told(invoke(*OFFBOARD))
    assert leaving(project) == ["production"]
    assert "Pulumi.production.yaml" in refusal(invoke("drift", "show"))

    told(invoke(*OFFBOARD, "-s", STACK))
    assert leaving(project) == ["production", STACK]
    assert f"Pulumi.{STACK}.yaml" in refusal(invoke("drift", "show", "-s", STACK))


def test_the_only_stack_is_the_default(project):
    (project / "Pulumi.production.yaml").unlink()

    told(invoke(*OFFBOARD))
    assert leaving(project) == [STACK]
    assert f"Pulumi.{STACK}.yaml" in refusal(invoke("drift", "show"))


@pytest.mark.parametrize(
    ("stacks", "expected"),
    [
        ((), ["production", "staging"]),
        (("staging", "production", "staging"), ["staging", "production"]),
        (("staging,production",), ["staging", "production"]),
    ],
    ids=["all", "repeated", "with commas"],
)
def test_a_report_covers_the_named_stacks_once_from_any_folder_of_the_project(project, monkeypatch, stacks, expected):
    monkeypatch.chdir(project / "tenants")
    options = [part for stack in stacks for part in ("-s", stack)]

    out = told(invoke("tenant", "list", "--no-policies", "-o", "json", *options))

    assert [each["stack"] for each in json.loads(out)["stacks"]] == expected


@pytest.mark.parametrize("stacks", ["", "staging,", "staging,.."])
def test_each_of_several_names_is_checked(project, stacks):
    refused(project, "FT-CFG-630", "tenant offboard", more=("-s", stacks))


def test_a_fault_of_the_program_is_shown_and_is_no_finding(project, monkeypatch, capsys):
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of the program")

    monkeypatch.setattr(overview, "show_tenants", fails)
    monkeypatch.setattr(sys, "argv", ["flux-tenancy", "tenant", "list"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == ExitCode.FAILED
    assert "RuntimeError: a fault of the program" in capsys.readouterr().err


def test_each_exit_code_has_its_meaning_in_the_help():
    assert MEANINGS.keys() == set(ExitCode)


@pytest.mark.parametrize("name", [name for name in WITH_STACK if CASES[name].no_stack])
def test_without_a_stack_where_there_are_several(project, name):
    assert "production, staging" in refused(project, CASES[name].no_stack, name, stack="")


@pytest.mark.parametrize("name", [name for name in KNOWN if CASES[name].is_report])
def test_a_report_covers_all_stacks(project, name):
    ended = run(name, stack="")

    assert (ended.code, ended.error) == (ExitCode.OK, "")
    assert "production" in ended.out and "staging" in ended.out


@pytest.mark.parametrize("group", sorted({name.rpartition(" ")[0] for name in COMMANDS}))
def test_a_group_alone_shows_its_help(group):
    done = CliRunner().invoke(app, group.split())

    assert (done.exit_code, done.stderr) == (ExitCode.OK, "") and "Usage: " in done.stdout
