"""The configuration file that the `pulumi` command names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from flux_tenancy.components.engine.pulumi_command import ConfigFile, Process, ancestors, config_file

WORK = Path("/work")
HOST = Process(["/usr/bin/pulumi-language-python", "-root=/work", "127.0.0.1:1"], WORK)
SHELL = Process(["sh", "-c", "pulumi up --config-file shell.yaml"], WORK)


def command(*arguments: str) -> list[Process]:
    """The ancestors of a program that such a command runs, including one that must not be mistaken for the command."""
    up = Process(["/usr/bin/pulumi", "up", *arguments], WORK)
    return [HOST, up, SHELL, Process(["pulumi", "watch", "--config-file", "outer.yaml"], WORK)]


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ([], None),
        (["--config-file", "other.yaml"], WORK / "other.yaml"),
        (["--config-file=other.yaml", "--yes"], WORK / "other.yaml"),
        (["--config-file", "a.yaml", "--config-file=b.yaml"], WORK / "b.yaml"),
        (["--config-file", "/etc/stack.yaml"], Path("/etc/stack.yaml")),
        (["--yes", "--", "--config-file", "other.yaml"], None),
        (["--config-file"], None),
    ],
)
def test_the_option_is_read_from_the_nearest_command(arguments, given):
    assert config_file(command(*arguments), {}) == ConfigFile(True, given)


def test_the_option_can_be_a_variable_which_the_command_line_overrides():
    environ = {"PULUMI_OPTION_CONFIG_FILE": "variable.yaml"}

    assert config_file(command(), environ).given == WORK / "variable.yaml"
    assert config_file(command("--config-file", "other.yaml"), environ).given == WORK / "other.yaml"


def test_without_a_command_the_file_is_not_known():
    assert config_file([HOST, SHELL, Process([], WORK)], {}) == ConfigFile(False)


LOOK = "from flux_tenancy.components.engine.pulumi_command import config_file; print(config_file(environ={}))"


def test_the_command_is_found_in_the_process_table(tmp_path):
    """A stub of the command starts a shell, which starts the program."""
    stand_in = "import subprocess, sys; subprocess.run(['sh', '-c', sys.argv[1] + '; true'])"
    program = f'"{sys.executable}" -c "{LOOK}"'

    done = subprocess.run(
        ["pulumi", "-c", stand_in, program, "--config-file", "other.yaml"],
        executable=sys.executable,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[4])},
        capture_output=True,
        text=True,
    )

    assert done.stdout.strip() == str(ConfigFile(True, tmp_path / "other.yaml")), done.stderr


@pytest.mark.parametrize("error", [psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess])
def test_an_ancestor_that_cannot_be_read_or_has_ended_is_not_an_error(monkeypatch, error):
    def fail(process: psutil.Process) -> list[str]:
        raise error(process.pid)

    monkeypatch.setattr(psutil.Process, "cmdline", fail)

    assert list(ancestors()) == []
    assert config_file(environ={}) == ConfigFile(False)
