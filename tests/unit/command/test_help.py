"""`--help` of all commands: it is there, and it needs nothing that only a command needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from flux_tenancy.command.app import NAME, app

CHECKOUT = Path(__file__).parents[3]
HEAVY = ("flux_tenancy.operations", "flux_tenancy.review", "kubernetes", "pulumi", "pydantic", "yaml")
# In one process, since each starts for a while; a module is reported for the first command that imports it.
SHOW = """
import json, sys
from typer.main import get_command
from flux_tenancy.command.app import app
program, seen = get_command(app), {}
for words in json.loads(sys.argv[1]):
    program.main([*words, "--help"], prog_name="flux-tenancy", standalone_mode=False)
    loaded = {*sys.modules} & {*json.loads(sys.argv[2])}
    seen[" ".join(words)] = sorted(loaded)
json.dump(seen, sys.stderr)
"""


def commands() -> list[list[str]]:
    """The words of every group and command."""

    def walk(command: Any, words: list[str]) -> list[list[str]]:
        below = getattr(command, "commands", {})
        return [words, *(found for name, each in below.items() for found in walk(each, [*words, name]))]

    return walk(typer.main.get_command(app), [])


def test_help_imports_nothing_of_what_commands_do():
    """Else it takes longer than 0.3 s."""
    arguments = [sys.executable, "-c", SHOW, json.dumps(commands()), json.dumps(HEAVY)]
    done = subprocess.run(arguments, cwd=CHECKOUT, env=os.environ | {"COLUMNS": "120"}, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stderr)
    assert {words: modules for words, modules in loaded.items() if modules} == {}
    assert len(loaded) > 3 and done.stdout.count(f"Usage: {NAME}") == len(loaded)


@pytest.mark.parametrize("words", [each for each in commands() if each], ids=" ".join)
def test_help_of_a_command_is_sentences_with_examples(words):
    command: Any = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]

    assert command.help.partition("\n\n")[0].endswith("."), command.help
    for option in command.params:
        assert option.help[:1].isupper() and option.help.endswith("."), option.opts
    if not hasattr(command, "commands"):
        assert "Examples:" in command.help
        assert f"  {NAME} {' '.join(words)}" in command.help
