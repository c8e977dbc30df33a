"""The command `flux-tenancy` as users run it: a process for each call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.project import CHECKOUT


def flux_tenancy(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a project, with this process's environment."""
    command = [sys.executable, "-m", "flux_tenancy.command", "--cwd", str(project), *arguments]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
