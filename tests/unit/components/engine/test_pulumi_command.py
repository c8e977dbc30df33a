"""What the `pulumi` command that runs the program does, and the configuration file that it names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from flux_tenancy.components.engine.pulumi_command import (
    ConfigFile,
    Process,
    ancestors,
    config_file,
    creates_nothing,
    excludes,
    ignores_protection,
    makes_plan,
    refreshes,
)

WORK = Path("/work")
HOST = Process(["/usr/bin/pulumi-language-python", "-root=/work", "127.0.0.1:1"], WORK)
SHELL = Process(["sh", "-c", "pulumi up --config-file shell.yaml"], WORK)
OUTER = Process(["pulumi", "destroy", "--save-plan", "outer.json", "--config-file", "outer.yaml"], WORK)


def command(arguments: str) -> list[Process]:
    """The ancestors of a program that such a command runs, below a shell and an unrelated command."""
    return [HOST, Process(["/usr/bin/pulumi", *arguments.split()], WORK), SHELL, OUTER]


@pytest.mark.parametrize(
    ("arguments", "nothing"),
    [
        ("destroy --yes --run-program", True),
        ("down", True),
        ("dn", True),
        ("refresh --run-program", True),
        ("-C /platform --non-interactive destroy", True),
        ("--cwd=/platform --color never -v 9 refresh", True),
        ("up --refresh", False),
        ("preview --stack destroy", False),
        ("-C destroy up", False),
        ("up --target refresh", False),
        # The argument after an unknown option may be its value.
        ("--of-tomorrow up destroy", False),
        ("", False),
    ],
)
def test_only_destroy_and_refresh_create_nothing(arguments, nothing):
    assert creates_nothing(command(arguments)) is nothing


@pytest.mark.parametrize(
    ("asks", "arguments", "environ", "answer"),
    [
        (makes_plan, "preview --save-plan plan.json", {}, True),
        (makes_plan, "preview --save-plan=plan.json", {}, True),
        (makes_plan, "up --strict", {}, True),
        (makes_plan, "preview", {"PULUMI_OPTION_SAVE_PLAN": "plan.json"}, True),
        (makes_plan, "up", {"PULUMI_EXPERIMENTAL": "true"}, True),
        (makes_plan, "up", {"PULUMI_EXPERIMENTAL": "false"}, False),
        (makes_plan, "preview", {}, False),
        (makes_plan, "up --plan plan.json", {}, False),
        (ignores_protection, "up --ignore-protect --yes", {}, True),
        (ignores_protection, "preview --ignore-protect=true", {}, True),
        (ignores_protection, "up", {"PULUMI_OPTION_IGNORE_PROTECT": "true"}, True),
        (ignores_protection, "up --ignore-protect=false", {}, False),
        # An option on the command line takes precedence.
        (ignores_protection, "up --ignore-protect=false", {"PULUMI_OPTION_IGNORE_PROTECT": "true"}, False),
        (ignores_protection, "up", {"PULUMI_OPTION_IGNORE_PROTECT": "false"}, False),
        (ignores_protection, "up --yes", {}, False),
        (refreshes, "up --yes --refresh", {}, True),
        (refreshes, "preview -r", {}, True),
        (refreshes, "up --refresh=false", {"PULUMI_OPTION_REFRESH": "true"}, False),
        (refreshes, "up", {"PULUMI_OPTION_REFRESH": "true"}, True),
        (refreshes, "refresh", {}, False),
    ],
)
def test_an_option_is_recognized_on_the_command_line_and_as_a_variable(asks, arguments, environ, answer):
    assert asks(command(arguments), environ) is answer


@pytest.mark.parametrize(
    ("arguments", "excluded"),
    [
        ("up --exclude **github:**", True),
        ("up --yes --exclude=**github:**", True),
        ("up --exclude **Tenant::shop --exclude **github:**", True),
        ("up --exclude **github:index/**", False),
        ("up --target **github:**", False),
        ("up **github:**", False),
        ("up", False),
    ],
)
def test_a_command_that_excludes_a_pattern_is_recognized(arguments, excluded):
    assert excludes("**github:**", command(arguments)) is excluded


@pytest.mark.parametrize(
    ("arguments", "environ", "given"),
    [
        ("up", {}, None),
        ("up --config-file other.yaml", {}, WORK / "other.yaml"),
        ("up --config-file=other.yaml --yes", {}, WORK / "other.yaml"),
        ("up --config-file a.yaml --config-file=b.yaml", {}, WORK / "b.yaml"),
        ("up --config-file /etc/stack.yaml", {}, Path("/etc/stack.yaml")),
        ("up --yes -- --config-file other.yaml", {}, None),
        ("up --config-file", {}, None),
        ("up", {"PULUMI_OPTION_CONFIG_FILE": "variable.yaml"}, WORK / "variable.yaml"),
        ("up --config-file other.yaml", {"PULUMI_OPTION_CONFIG_FILE": "variable.yaml"}, WORK / "other.yaml"),
    ],
)
def test_the_configuration_file_is_read_from_the_nearest_command(arguments, environ, given):
    assert config_file(command(arguments), environ) == ConfigFile(True, given)


def test_without_a_command_everything_is_checked_and_a_plan_is_assumed():
    assert not creates_nothing([HOST])
    assert not ignores_protection([HOST], {})
    assert not refreshes([HOST], {})
    assert not excludes("**github:**", [HOST])
    assert makes_plan([HOST], {})
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
