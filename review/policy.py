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
from review.findings import Finding
from review.findings_text import as_json, as_text
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
    found, problems = check_stacks(PROJECT, stacks)
    typer.echo(as_json(found) if output is Output.JSON else as_text(found))
    if problems:
        raise ConfigurationError(problems)
    if any(finding.waiver is None for each in found.values() for finding in each):
        raise typer.Exit(1)


def check_stacks(project: Path, stacks: Iterable[str]) -> tuple[dict[str, tuple[Finding, ...]], list[Problem]]:
    """The findings of each stack, and the errors of those that cannot be checked.

    Args:
        project: folder of the Pulumi project.
        stacks: names of the stacks.
    """
    found: dict[str, tuple[Finding, ...]] = {}
    problems: list[Problem] = []
    for stack in stacks:
        try:
            found[stack] = check_stack(project, stack)
        except ConfigurationError as error:
            problems += error.problems
    return found, problems


def check_stack(project: Path, stack: str) -> tuple[Finding, ...]:
    """What in a stack breaks a rule.

    Args:
        project: folder of the Pulumi project.
        stack: name of the stack.

    Raises:
        ConfigurationError: with every problem of the stack's files and of its releases.
    """
    config, _ = load_offline(stack, project, read_project_file(project))
    return findings(render_stack(project, stack).objects, RuleSetting.of(stack, config))


if __name__ == "__main__":
    app(prog_name="python -m review.policy")
