"""`make policy`: holds what stacks would apply to the rules for reviewers, without a cluster or a passphrase."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from components.config.errors import ConfigurationError, Problem
from components.stack.offline import load_offline
from components.stack.project_file import read_project_file
from operations.described_stack import described_file, described_stacks
from operations.errors import OperationError
from review.command import PROJECT, ReviewCommand
from review.findings_text import as_json, as_text
from review.policy_base import JudgedStack, deletions
from review.render import render_stack
from review.rule_setting import RuleSetting
from review.rule_wordings import NO_STACKS
from review.rules import findings

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command(cls=ReviewCommand)
def policy(
    stack: Annotated[str | None, typer.Option(help="name of the stack; all stacks of the project by default")] = None,
    base: Annotated[str, typer.Option(help="what the change is to be merged into, to judge deletions, too")] = "",
    output: Annotated[Output, typer.Option(help="for people, or for programs")] = Output.TEXT,
) -> None:
    """Show what in the stacks breaks a rule, and what is waived.

    Exits with 1 if something breaks a rule that is not waived, and with 2 if a stack cannot be checked.
    """
    if stack is not None:
        described_file(stack, PROJECT)  # An unknown stack is refused with the names of those that exist.
    stacks = described_stacks(PROJECT) if stack is None else [stack]
    if not stacks:
        raise OperationError.of(NO_STACKS)
    read, problems = read_stacks(PROJECT, stacks)
    found = {name: findings(render.objects, setting) for name, (render, setting) in read.items()}
    if base:
        deleted, incomparable = deletions(PROJECT, base, read)
        problems += incomparable
        found = {name: (*each, *deleted.get(name, ())) for name, each in found.items()}
    typer.echo(as_json(found) if output is Output.JSON else as_text(found))
    if problems:
        raise ConfigurationError(problems)
    if any(finding.waiver is None for each in found.values() for finding in each):
        raise typer.Exit(1)


def read_stacks(project: Path, stacks: Iterable[str]) -> tuple[dict[str, JudgedStack], list[Problem]]:
    """What stacks would apply and how the rules see them, and the errors of those that cannot be read.

    Args:
        project: folder of the Pulumi project.
        stacks: names of the stacks.
    """
    read: dict[str, JudgedStack] = {}
    problems: list[Problem] = []
    for stack in stacks:
        try:
            config, _ = load_offline(stack, project, read_project_file(project))
            read[stack] = render_stack(project, stack), RuleSetting.of(stack, config)
        except ConfigurationError as error:
            problems += error.problems
    return read, problems


if __name__ == "__main__":
    app(prog_name="python -m review.policy")
