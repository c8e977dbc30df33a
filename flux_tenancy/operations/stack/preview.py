"""The preview of an update, at the end of commands that change the files of stacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer

from flux_tenancy.components.cluster.client import ClusterUnavailable, read_facts
from flux_tenancy.components.config.messages import Message
from flux_tenancy.operations.stack.connected import connect_described
from flux_tenancy.operations.stack.pulumi_cli import PULUMI_NOT_FOUND
from flux_tenancy.project.errors import OperationError

OFFLINE_PREVIEW = (sys.executable, "-m", "flux_tenancy.command", "review", "diff", "--stack")


def show_preview(stack: str, project: Path) -> None:
    """Run `pulumi preview` for a stack, or `flux-tenancy review diff` if its cluster does not answer.

    Raises:
        OperationError: Pulumi cannot be run, or the preview fails.
    """
    try:
        read_facts(connect_described(stack, project))
    except ClusterUnavailable as error:
        typer.echo(f"Stack {stack} without its cluster, which does not answer ({error}):")
        # It prints its own errors; it also fails if a deletion has to be acknowledged first.
        subprocess.run([*OFFLINE_PREVIEW, stack], cwd=project)
        return
    typer.echo(f"Preview of stack {stack}:")
    try:
        done = subprocess.run(["pulumi", "preview", "--non-interactive", "--stack", stack], cwd=project)
    except FileNotFoundError:
        raise OperationError(PULUMI_NOT_FOUND()) from None
    if done.returncode != 0:
        raise OperationError(
            Message(
                "FT-OPS-306",
                f"the preview of stack {stack} failed",
                f"correct what it says and run `pulumi preview --stack {stack}`; the files stay changed",
            )
        )
