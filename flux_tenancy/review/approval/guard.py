"""Stops an update that differs from what reviewers have approved, in the program itself: whoever runs `pulumi`.

What the engine has passed is what the stack's files say, as a whole (`components.stack.loading`), and no option of the
engine changes what it applies. So what the files say decides, and they are rendered anew, as they were for the
reviewers: offline, before the first resource is registered, in a process that sees neither the engine's variables nor
the project's folder (`review.approval.check`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pulumi

from flux_tenancy.components.cluster.component import CLUSTER_TYPE
from flux_tenancy.components.config.errors import coded
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.engine.code import PACKAGE
from flux_tenancy.components.engine.pulumi_command import changing_options
from flux_tenancy.components.git.github import GITHUB_TYPE
from flux_tenancy.components.stack.files.stack_file import StackFile

VARIABLE = "FLUX_TENANCY_APPROVED"
"""What was approved: `sha256:…`, or the path of a file `digest.json`, relative to the project's folder."""
RECORDED_FIRST = (f"**{CLUSTER_TYPE}::**", f"**{GITHUB_TYPE}::**", "**:providers:**")
"""What the first update of a stack records before it creates anything (`operations.update`). Providers are never left
out, so their component goes with them."""
# Python looks into no folder of the project, and finds the product after everything that is installed.
_CHECK = """
import sys
sys.path.append(sys.argv[1])
from flux_tenancy.review.approval.check import main
sys.exit(main(*sys.argv[2:]))
"""
_ENGINE = "PULUMI_"
UNAPPROVABLE = Wording(
    "FT-REV-506",
    "{option} changes what is applied, and no approval covers it",
    "run the command without it, or without FLUX_TENANCY_APPROVED; `--config` has also written the stack's file, which "
    "`git restore` brings back",
)


def refuse_unapproved(stack: str, project: Path, file: StackFile, environ: Mapping[str, str] = os.environ) -> None:
    """Refuse to go on unless the stack would apply what was approved; without the variable, everything is.

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
    if options := changing_options(RECORDED_FIRST, environ=environ):
        raise pulumi.RunError(coded(UNAPPROVABLE(option=", ".join(options))))
    done = compare_with_approved(stack, approved, project, environ)
    if done.returncode:
        raise pulumi.RunError(done.stderr.strip().removeprefix("error: "))
    pulumi.log.info(done.stdout.strip())


def compare_with_approved(
    stack: str, approved: str, project: Path, environ: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Compare a stack's files with what was approved, in a process that fails if they differ.

    Args:
        environ: the environment to run it in; the engine's own variables are left out.
    """
    return subprocess.run(
        [sys.executable, "-I", "-c", _CHECK, str(PACKAGE.parent), str(project), stack, approved],
        cwd=project,
        env={name: value for name, value in environ.items() if not name.startswith(_ENGINE)},
        capture_output=True,
        text=True,
        check=False,
    )
