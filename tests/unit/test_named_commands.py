"""Pages, workflows, messages and help name no command, option or make target that does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from flux_tenancy.command.app import NAME, app
from tests.support.messages import read_messages

PROJECT = Path(__file__).parents[2]
PAGES = [
    PROJECT / "README.md",
    PROJECT / "CONTRIBUTING.md",
    *sorted(PROJECT.glob("docs/*.md")),
    *sorted(PROJECT.glob("dev/docs/*.md")),
]
WORKFLOWS = sorted(file for file in (PROJECT / ".github").rglob("*.y*ml"))
FILES = [*PAGES, *WORKFLOWS]
# A word that stands for others, such as `…`, `<stack>`, `[OPTIONS]` or `$stack`.
PLACEHOLDER = re.compile(r"[…<\[{$(\"']|\.\.\.|[A-Z]")


def code(text: str) -> Iterator[str]:
    """The lines of code blocks and the code spans of a text in Markdown."""
    blocks = re.findall(r"^ *```\w*\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    yield from (line for block in blocks for line in re.sub(r"\\\n\s*", "", block).splitlines())
    rest = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", rest))


def lines(file: Path) -> list[str]:
    """The parts of a file that may be commands."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return list(code(text))
    return [line for line in re.sub(r"\\\n\s*", "", text).splitlines() if not line.lstrip().startswith("#")]


def messages() -> list[str]:
    return [f"{each.problem}; {each.advice}" for each in read_messages().values()]


def help_texts(command: Any) -> Iterator[str]:
    """The help of a command, of its options, and of all commands below it."""
    yield command.help or ""
    yield from (each.help or "" for each in command.params)
    for each in getattr(command, "commands", {}).values():
        yield from help_texts(each)


def wrong_in(words: list[str]) -> str:
    """The first word after `flux-tenancy` that is no group, command or option; empty if there is none."""
    command: Any = typer.main.get_command(app)
    takes_value = False
    for word in words:
        if takes_value:
            takes_value = False
        elif word.startswith("-"):
            name = word.strip("[].,").partition("=")[0]
            options = {name: each for each in command.params for name in (*each.opts, *each.secondary_opts)}
            if name not in {*options, "--help", "-h"}:
                return word
            takes_value = "=" not in word and name in options and not options[name].is_flag
        elif not hasattr(command, "commands") or not word.strip(".,:"):
            continue
        elif PLACEHOLDER.match(word):
            return ""
        elif (below := command.commands.get(word.strip(".,:"))) is None:
            return word
        else:
            command = below
    return ""


def wrong_commands(texts: list[str]) -> list[str]:
    """The commands of `flux-tenancy` in texts that do not exist."""
    named = [each.split("`")[0] for text in texts for each in re.findall(rf"(?<![\w./:-]){NAME} ([^\n;|&#)]*)", text)]
    return [f"{NAME} {each}" for each in named if wrong_in(each.split())]


def wrong_targets(texts: list[str]) -> set[str]:
    """The targets in texts that the Makefile does not have."""
    has = re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for text in texts for name in re.findall(r"(?:^|\$ |`|: |&& )make (?:-s )?([a-z-]+)", text.strip())}
    return named - {*has, "help"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_command_and_make_target_that_a_page_or_a_workflow_names_exists(file):
    assert wrong_commands(lines(file)) == []
    assert wrong_targets(lines(file)) == set()


@pytest.mark.parametrize("wrong", [wrong_commands, wrong_targets])
def test_every_command_and_target_that_a_message_or_help_names_exists(wrong):
    assert not wrong([*messages(), *help_texts(typer.main.get_command(app))])


@pytest.mark.parametrize(
    "line",
    [
        "flux-tenancy drifts show",
        "flux-tenancy drift list --stack staging",
        "flux-tenancy drift show --verbose",
        "flux-tenancy drift show --stack=a --no",
        "run: .venv/bin/python x && flux-tenancy nothing",
    ],
)
def test_a_command_that_does_not_exist_is_noticed(line):
    assert wrong_commands([line]) != []
