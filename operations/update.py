"""An update of a stack: repairs drift, then runs `pulumi up`, and applies only what was approved."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from flux_tenancy.components.config.messages import Message
from flux_tenancy.operations.errors import OperationError
from flux_tenancy.operations.pulumi_cli import PULUMI_NOT_FOUND
from flux_tenancy.operations.repair import repair
from flux_tenancy.review.approval.guard import VARIABLE

_DIGEST = "sha256:"


def update(stack: str, project: Path, approved: str | None = None, yes: bool = False) -> None:
    """Repair a stack and update it.

    Args:
        stack: name of the stack.
        project: folder of the Pulumi project.
        approved: the digest of the approved render, or the path of its digest.json, relative to the current folder;
            None leaves it to the environment.
        yes: whether to apply without a preview and without asking.

    Raises:
        OperationError: the repair or the update failed.
        typer.Exit: something else was approved; the reason is printed.
        KeyboardInterrupt: the user has interrupted the update.
    """
    if approved is not None:
        # The repair and the program of the stack read it; a path counts from the project's folder there.
        is_path = approved and not approved.startswith(_DIGEST)
        os.environ[VARIABLE] = str(Path(approved).absolute()) if is_path else approved
    repair(stack, project)
    options = ["--yes", "--skip-preview", "--non-interactive"] if yes else []
    if _run(["pulumi", "up", *options, "--stack", stack], project):
        raise OperationError(
            Message(
                "FT-OPS-315",
                f"`pulumi up` of stack {stack} failed",
                "correct the error above and run the command again",
            )
        )


def _run(command: list[str], folder: Path) -> int:
    """Run a command in the terminal; returns its exit status.

    Ctrl-C reaches Pulumi itself, which then ends the update in order. Killing it would leave operations pending.

    Raises:
        OperationError: it cannot be run.
        KeyboardInterrupt: it has ended after an interrupt.
    """
    interrupted = False
    try:
        running = subprocess.Popen(command, cwd=folder)
    except FileNotFoundError:
        raise OperationError(PULUMI_NOT_FOUND()) from None
    while True:
        try:
            status = running.wait()
        except KeyboardInterrupt:
            interrupted = True
            continue
        if interrupted and status:
            raise KeyboardInterrupt
        return status
