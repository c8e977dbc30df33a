"""`make policy`: holds what stacks would apply to the rules for reviewers, without a cluster or a passphrase."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated

import typer

from components.config.errors import ConfigurationError, Problem, coded
from components.config.messages import Message
from components.stack.files.names import stack_file_name
from operations.described_stack import described_file, described_stacks
from operations.errors import OperationError
from review.commands.command import PROJECT, ReviewCommand
from review.render.rendered import Render
from review.report.compare import NO_STACKS
from review.rules.findings_text import as_json, as_text
from review.rules.stacks import read_stacks
from review.rules.table import findings
from review.versions.rendering import rendering
from review.versions.trees import merge_base

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

    Warns of what will soon stop updates.

    Exits with 1 if something breaks a rule that is not waived, and with 2 if a stack cannot be checked.
    """
    if stack is not None:
        described_file(stack, PROJECT)  # An unknown stack is refused with the names of those that exist.
    stacks = described_stacks(PROJECT) if stack is None else [stack]
    if not stacks:
        raise OperationError(NO_STACKS())
    read, problems = read_stacks(PROJECT, stacks)
    before, incomparable = _earlier(base, read.keys()) if base else ({}, [])
    problems += incomparable
    found = {
        name: findings(render.objects, setting, before[name].objects if name in before else ())
        for name, (render, setting, _) in read.items()
    }
    for name, judged in read.items():
        for warning in judged.warnings:
            typer.echo(f"warning: {name}: {coded(warning)}", err=True)
    typer.echo(as_json(found) if output is Output.JSON else as_text(found))
    if problems:
        raise ConfigurationError(problems)
    if any(finding.waiver is None for each in found.values() for finding in each):
        raise typer.Exit(1)


def _earlier(base: str, stacks: Collection[str]) -> tuple[dict[str, Render], list[Problem]]:
    """What stacks apply at the merge base, and those of which that is unknown; a new stack is in neither."""
    with merge_base(PROJECT, base) as tree:
        earlier = [stack for stack in described_stacks(tree.folder) if stack in stacks]
        with rendering(tree, earlier) as started:
            versions = started.versions() if earlier else {}
    renders = {stack: version.render for stack, version in versions.items() if version.render}
    problems = [
        Problem(
            stack_file_name(stack),
            "",
            Message(
                "FT-REV-122", f"cannot be compared with the merge base: {version.note}", "compare the deletions by hand"
            ),
        )
        for stack, version in versions.items()
        if version.render is None
    ]
    return renders, problems


if __name__ == "__main__":
    app(prog_name="python -m review.commands.policy")
