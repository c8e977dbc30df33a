"""The `pulumi` command, run for one stack, and its errors with what to do about them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from operations.errors import OperationError
from operations.wordings import NOT_LOGGED_IN, PULUMI_FAILED, PULUMI_NOT_FOUND, UNKNOWN_TO_PULUMI, WRONG_PASSPHRASE


def run_pulumi(arguments: Sequence[str], stack: str, project: Path, text: str = "") -> str:
    """Run `pulumi` for a stack, and return what it prints.

    Args:
        arguments: the command with its arguments, without the stack.
        stack: name of the stack.
        project: folder of the Pulumi project.
        text: what it reads from standard input.

    Raises:
        OperationError: it cannot be run, or it fails.
    """
    command = ["pulumi", *arguments, "--stack", stack, "--non-interactive"]
    try:
        done = subprocess.run(command, cwd=project, input=text, text=True, capture_output=True)
    except FileNotFoundError:
        raise OperationError.of(PULUMI_NOT_FOUND) from None
    if done.returncode != 0:
        raise _refusal(done.stderr, stack)
    return done.stdout


def _refusal(output: str, stack: str) -> OperationError:
    if "no stack named" in output:
        return OperationError.of(UNKNOWN_TO_PULUMI, stack=stack)
    if "passphrase" in output:
        return OperationError.of(WRONG_PASSPHRASE, stack=stack)
    if "PULUMI_ACCESS_TOKEN" in output:
        return OperationError.of(NOT_LOGGED_IN)
    lines = [line.removeprefix("error: ") for line in output.splitlines() if line.strip()]
    return OperationError.of(PULUMI_FAILED, reason=lines[-1] if lines else "it gives no reason", stack=stack)
