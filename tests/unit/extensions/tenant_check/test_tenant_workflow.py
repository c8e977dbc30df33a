"""The workflow that tenants copy: it may read, runs commands that exist, and pins what it uses."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import typer
import yaml

from flux_tenancy.command.app import app

TEMPLATE = Path(__file__).parents[4] / "flux_tenancy" / "template"
TEXT = (TEMPLATE / "tenant" / "check.yaml").read_text(encoding="utf-8")
[JOB] = yaml.safe_load(TEXT)["jobs"].values()
COMMANDS = [step["run"] for step in JOB["steps"] if "run" in step]


def test_it_may_only_read():
    assert yaml.safe_load(TEXT)["permissions"] == {} and JOB["permissions"] == {"contents": "read"}
    assert "secrets." not in TEXT and "${{" not in "".join(COMMANDS)


def test_it_uses_the_actions_of_the_platform_at_the_same_commits():
    used = re.findall(r"uses: (.*)", TEXT)
    of_platform = "".join(file.read_text(encoding="utf-8") for file in (TEMPLATE / ".github").rglob("*.yaml"))

    assert len(used) == 3 and [each for each in used if f"uses: {each}\n" not in of_platform] == []


def test_its_commands_exist_with_their_options():
    command: Any = typer.main.get_command(app)
    [check] = [each.partition("flux-tenancy ")[2] for each in COMMANDS if "flux-tenancy check" in each]
    options = {option for parameter in command.commands["check"].params for option in parameter.opts}

    assert {word for word in shlex.split(check) if word.startswith("--")} <= options
    assert "flux-tenancy review build-admission" in COMMANDS
