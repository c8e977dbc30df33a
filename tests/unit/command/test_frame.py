"""What all commands share: the project, the stack, and how the program ends."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from flux_tenancy.command import app as module
from flux_tenancy.command.options import ChangedStacks, Stack, Stacks, find_project
from flux_tenancy.command.program import MEANINGS, ExitCode, Program, found
from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.project.errors import OperationError

app = typer.Typer(cls=Program, add_completion=False)


@app.command()
def one(stack: Stack) -> None:
    typer.echo(stack)


@app.command()
def report(stacks: Stacks) -> None:
    typer.echo(",".join(stacks))


@app.command()
def change(stacks: ChangedStacks) -> None:
    typer.echo(",".join(stacks))


@app.command()
def end(how: str) -> None:
    match how:
        case "found":
            found()
        case "operation":
            raise OperationError(Message("FT-OPS-999", "it is broken", "mend it"))
        case "files":
            raise ConfigurationError([Problem("Pulumi.eu.yaml", "flux", Message("FT-CFG-999", "is missing", "add it"))])
        case "file":
            Path("nowhere", "a.yaml").read_text()
        case "interrupt":
            raise KeyboardInterrupt
        case "fault":
            raise RuntimeError("a fault of the program")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with two stacks; the commands run in a folder below it."""
    (tmp_path / "Pulumi.yaml").write_text("name: platform\nruntime: python\n")
    for stack in ("eu", "us"):
        (tmp_path / f"Pulumi.{stack}.yaml").write_text("config: {}\n")
    below = tmp_path / "docs"
    below.mkdir()
    monkeypatch.chdir(below)
    monkeypatch.delenv("PULUMI_STACK", raising=False)
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout, done.stderr


def test_the_project_is_found_from_a_folder_below_it(project):
    assert find_project() == project
    assert run("report") == (0, "eu,us\n", "")


def test_outside_of_a_project_is_an_error_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, error = run("report")

    assert (code, out) == (ExitCode.FAILED, "")
    assert error.startswith("error: there is no Pulumi.yaml in") and "(FT-CMD-001)\nremedy: run the command" in error


def test_the_stack_is_the_one_that_is_named_or_that_of_the_shell(project, monkeypatch):
    assert run("one", "--stack", "eu") == run("one", "-s", "eu") == run("change", "-s", "eu") == (0, "eu\n", "")
    monkeypatch.setenv("PULUMI_STACK", "us")
    assert run("one") == run("change") == (0, "us\n", "")
    assert run("one", "-s", "eu") == (0, "eu\n", "")


@pytest.mark.parametrize("command", ["one", "change"])
def test_without_a_name_only_the_only_stack_is_taken(project, command):
    code, out, error = run(command)
    assert (code, out) == (ExitCode.FAILED, "") and "one of these: eu, us" in error

    (project / "Pulumi.us.yaml").unlink()
    assert run(command) == (0, "eu\n", "")


def test_several_stacks_are_named_by_repeating_the_option(project):
    assert run("report", "-s", "us", "-s", "eu", "-s", "us") == (0, "us,eu\n", "")
    assert run("report", "-s", "us,eu") == run("change", "-s", "us,eu,us") == (0, "us,eu\n", "")


@pytest.mark.parametrize("stacks", ["", "eu,", "eu,.."])
def test_each_of_several_names_is_checked(project, stacks):
    code, out, error = run("change", "-s", stacks)

    assert (code, out) == (ExitCode.FAILED, "") and "FT-CFG-630" in error


@pytest.mark.parametrize("command", ["one", "report", "change"])
@pytest.mark.parametrize("stack", ["..", "a;b", "acme/../staging"])
def test_a_name_that_no_stack_may_have_is_refused(project, command, stack):
    code, out, error = run(command, "--stack", stack)

    assert (code, out) == (ExitCode.FAILED, "")
    assert error.startswith(f"error: Pulumi.{stack}.yaml: {stack!r} is not") and "FT-CFG-630" in error


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("well", ExitCode.OK, ""),
        ("found", ExitCode.FOUND, ""),
        ("operation", ExitCode.FAILED, "error: it is broken (FT-OPS-999)\nremedy: mend it\n"),
        ("files", ExitCode.FAILED, "FT-CFG-999"),
        ("file", ExitCode.FAILED, "error: nowhere/a.yaml: No such file or directory (FT-CMD-008)\nremedy: "),
        ("interrupt", ExitCode.INTERRUPTED, ""),
    ],
)
def test_the_program_ends_with_a_code_of_its_table(how, code, said):
    ended, out, error = run("end", how)

    assert (ended, out) == (code, "") and said in error and "Traceback" not in error
    assert code in MEANINGS


def test_a_wrong_option_is_one_error_with_the_help_to_read():
    code, out, error = run("end", "--no")

    assert (code, out) == (ExitCode.FAILED, "")
    assert error.splitlines() == ["error: no such option: --no (FT-CMD-003)", "remedy: see `root end --help`"]


def test_a_fault_of_the_program_is_not_hidden():
    done = CliRunner().invoke(app, ["end", "fault"])

    assert isinstance(done.exception, RuntimeError)


def test_a_fault_of_the_program_is_no_finding(monkeypatch, capsys):
    def fails(**_: object) -> None:
        raise RuntimeError("a fault of the program")

    monkeypatch.setattr(module, "app", fails)

    with pytest.raises(SystemExit) as ended:
        module.main()

    assert ended.value.code == ExitCode.FAILED
    assert "RuntimeError: a fault of the program" in capsys.readouterr().err
