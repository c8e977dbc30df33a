"""Commands of the program, run in the test's own process."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from flux_tenancy.command.app import app


class Ran(NamedTuple):
    """How a command has ended: its exit status, and what it has printed to standard output and standard error."""

    code: int
    out: str
    error: str


def invoke(*arguments: str) -> Ran:
    """Run a command; an exception that it does not handle fails the test."""
    done = CliRunner().invoke(app, list(arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Ran(done.exit_code, done.stdout, done.stderr)


def told(ran: Ran) -> str:
    """What a command has printed that has ended well."""
    assert (ran.code, ran.error) == (0, "")
    return ran.out


def refusal(ran: Ran) -> str:
    """What a command has said that has done nothing."""
    assert (ran.code, ran.out) == (2, "")
    return ran.error


def install_pulumi(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands find this script as `pulumi`, and let them run in the folder, for no current stack."""
    program = folder / "bin" / "pulumi"
    program.parent.mkdir()
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.delenv("PULUMI_STACK", raising=False)
    monkeypatch.chdir(folder)
