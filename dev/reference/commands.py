"""The page of all commands, and pictures of each group's help, from the commands themselves."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import typer
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text
from typer.cli import get_docs_for_click
from typer.testing import CliRunner

from dev.reference.tables import listed
from flux_tenancy.command.app import NAME, app
from flux_tenancy.command.program import MEANINGS

_COLUMNS = 100
_OF_WORKFLOWS = "ci"
"""The last group, whose commands the template's workflows call."""
_SEVERAL = 3
"""What so many commands have is described once."""


def commands_page() -> str:
    """Every command that people run, with its usage, options and examples, and the exit codes."""
    command: Any = typer.main.get_command(app)
    context = command.make_context(NAME, [], resilient_parsing=True)
    _, rest = get_docs_for_click(obj=command, ctx=context, name=NAME).split("\n", 1)
    rest = rest.partition(f"## `{NAME} {_OF_WORKFLOWS}`")[0]
    # Every command has the option, and a group's commands follow with their whole sentences.
    rest = re.sub(r"^\* `-h, --help`: .*\n", "", rest, flags=re.MULTILINE)
    rest = re.sub(r"^\*\*Commands\*\*:\n\n(\* .*\n)+\n?", "", rest, flags=re.MULTILINE)
    rest = re.sub(r"^\*\*Options\*\*:\n\n(?!\*)", "", rest, flags=re.MULTILINE)
    rest = re.sub(r"^Exit codes: .*\n\n", "", rest, flags=re.MULTILINE)
    rest = rest.replace("**Usage**:\n\n", "")
    # The heading, the arguments and the examples say the same.
    rest = re.sub(r"```console\n\$ .*\n```\n\n", "", rest)
    rest = re.sub(r"^\*\*(Arguments|Options)\*\*:\n\n", "", rest, flags=re.MULTILINE)
    # Arguments and options are one list.
    rest = re.sub(r"^(\* .*\n)\n(?=\* )", r"\1", rest, flags=re.MULTILINE)
    rest = re.sub(r"^Examples:\n\n+(?:  \S.*\n+)+", _as_code, rest, flags=re.MULTILINE)
    shared, rest = _options_once(rest)
    codes = "\n".join(f"- {code.value}: {meaning}" for code, meaning in MEANINGS.items())
    return (
        f"<!-- Written by `make generate` from flux_tenancy/command/; change it there. -->\n\n# Commands\n\n"
        f"![Help of {NAME}](images/{NAME}.svg)\n\n{rest.strip()}\n\n"
        f"## `{NAME} {_OF_WORKFLOWS}`\n\n`{NAME} {_OF_WORKFLOWS} --help` has the commands of "
        f"[the workflows](review.md#set-up-in-ten-minutes).\n\n"
        f"## Options of several commands\n\n{shared}\n\n"
        f"## Exit codes\n\n{codes}\n"
    )


def _options_once(text: str) -> tuple[str, str]:
    """The options that several commands have, and the page with their names alone at these commands."""
    options = re.compile(r"^\* (`[-T][^`]+`): .*$", re.MULTILINE)
    counts = Counter(found[0] for found in options.finditer(text))
    often = [line for line, count in reversed(counts.most_common()) if count >= _SEVERAL]
    names = {line: options.sub(r"\1", line) for line in often}
    parts = re.split(rf"^##+ `{NAME} (.*)`$", text, flags=re.MULTILINE)
    sections = list(zip(parts[1::2], parts[2::2], strict=True))
    # The most common meaning of a name needs no commands.
    usual = {name: line for line, name in names.items()}

    def shown(line: str) -> str:
        if line == usual[names[line]]:
            return line
        commands = listed(command for command, body in sections if line in body.splitlines())
        return line.replace(names[line], f"{names[line]} of {commands}")

    def named(found: re.Match[str]) -> str:
        lines = found[0].splitlines()
        own = [line for line in lines if line not in names]
        shared = ", ".join(name for line, name in names.items() if line in lines)
        also = [f"* {shared}: [shared](#options-of-several-commands)"] if shared else []
        return "\n".join(own + also)

    return "\n".join(map(shown, often)), re.sub(r"^\* `.*(\n\* `.*)*", named, text, flags=re.MULTILINE)


def _as_code(found: re.Match[str]) -> str:
    """Examples as a block of code."""
    return "\n".join(f"    {line.strip()}" for line in found[0].splitlines()[1:] if line) + "\n\n"


def pictures() -> Mapping[str, str]:
    """The help of the program and of each group as SVG, by the name of its file."""
    command: Any = typer.main.get_command(app)
    groups = [name for name, each in command.commands.items() if hasattr(each, "commands")]
    return {f"{'-'.join([NAME, *words])}.svg": _picture(words) for words in ([], *([name] for name in groups))}


def _picture(words: list[str]) -> str:
    environment = {"TERMINAL_WIDTH": str(_COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name=NAME, env=environment, color=True)
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(f"$ {' '.join([NAME, *words])} --help")
    console.print(Text.from_ansi(shown.stdout.strip("\n")))
    return console.export_svg(title=" ".join([NAME, *words]), theme=MONOKAI, unique_id="-".join([NAME, *words]))
