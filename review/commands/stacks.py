"""`make stacks`: lists the project's stacks for workflows, as found in its files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from components.config.messages import Message
from components.stack.config import is_production
from components.stack.files.project_file import read_project_file
from components.stack.offline import load_offline
from operations.described_stack import described_file, described_stacks
from operations.errors import OperationError
from review.commands.command import PROJECT, ReviewCommand

app = typer.Typer(add_completion=False)


@app.command(cls=ReviewCommand)
def stacks(
    chosen: Annotated[
        str, typer.Option("--stacks", envvar="STACKS", help="names as a JSON list; empty for all that have a file")
    ] = "",
    names: Annotated[bool, typer.Option("--names", help="print the names alone, one a line")] = False,
) -> None:
    """Print the stacks as outputs of a GitHub Actions step: `all`, `production`, and `others`, which come before it."""
    found = _chosen(chosen) if chosen else described_stacks(PROJECT)
    if names:
        typer.echo("\n".join(found))
        return
    production = [stack for stack in found if _is_production(stack, PROJECT)]
    others = [stack for stack in found if stack not in production]
    for output, listed in {"all": found, "others": others, "production": production}.items():
        typer.echo(f"{output}={json.dumps(listed)}")


def _chosen(text: str) -> Sequence[str]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise OperationError(
            Message(
                "FT-REV-519",
                "STACKS is not a list of names",
                'set it to a JSON list like ["staging", "production"], or leave it out',
            )
        )
    for name in found:
        described_file(name, PROJECT)  # An unknown stack is refused with the names of those that exist.
    return found


def _is_production(stack: str, project: Path) -> bool:
    config, _ = load_offline(stack, project, read_project_file(project))
    return is_production(stack, config)


if __name__ == "__main__":
    app(prog_name="python -m review.commands.stacks")
