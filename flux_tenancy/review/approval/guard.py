"""Stops an update that differs from what reviewers have approved, in the program itself: whoever runs `pulumi`.

The program cannot be compared by its own registrations: some of them depend on the cluster and on plain-text secrets,
and the first is applied before the last is known. So the files from which it has read the stack are rendered anew, as
they were for the reviewers: offline, in a process without the engine's variables (`review.approval.check`), before the
first resource is registered. `load_stack` has checked that Pulumi passed what is in these files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pulumi

from flux_tenancy.components.config.errors import coded
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.stack.files.stack_file import StackFile

VARIABLE = "FLUX_TENANCY_APPROVED"
"""What was approved: `sha256:…`, or the path of a file `digest.json`, relative to the project's folder."""
_CHECK = ("-m", "flux_tenancy.review.approval.check")
_ENGINE = "PULUMI_"


def refuse_unapproved(stack: str, project: Path, file: StackFile, environ: Mapping[str, str] = os.environ) -> None:
    """Refuse to go on unless the stack would apply what was approved; without the variable, everything is.

    Args:
        stack: name of the stack.
        project: folder of the program.
        file: the stack's file, as the program has read it.
        environ: the environment of the `pulumi` command.

    Raises:
        RunError: something else was approved, or that cannot be told.
    """
    if (approved := environ.get(VARIABLE)) is None:
        return
    if source := file.option.strip() or ("an environment of Pulumi" if file.imports else ""):
        raise pulumi.RunError(
            coded(
                Message(
                    "FT-REV-505",
                    f"stack {stack} takes values from {source}, which its render does not contain",
                    f"keep all values of the stack in Pulumi.{stack}.yaml",
                )
            )
        )
    done = compare_with_approved(stack, approved, project, environ)
    if done.returncode:
        raise pulumi.RunError(done.stderr.strip().removeprefix("error: "))
    pulumi.log.info(done.stdout.strip())


def compare_with_approved(
    stack: str, approved: str, project: Path, environ: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Compare a stack's files with what was approved, in a process that fails if they differ.

    Args:
        stack: name of the stack.
        approved: the value of VARIABLE.
        project: folder of the program.
        environ: the environment to run it in; the engine's own variables are left out.
    """
    return subprocess.run(
        [sys.executable, *_CHECK, str(project), stack, approved],
        cwd=project,
        env={name: value for name, value in environ.items() if not name.startswith(_ENGINE)},
        capture_output=True,
        text=True,
        check=False,
    )
