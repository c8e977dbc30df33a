"""The terminal recording in the README: runs a part of the tour in the lab, and writes it to `docs/images/tour.svg`.

Run it after `make up`, in a shell with the lab's settings: `python -m dev.lab.recording`.
"""

from __future__ import annotations

import io
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from dev.lab.errors import LabError, reported
from dev.lab.settings import Settings

PROJECT = Path(__file__).parents[2]
PICTURE = PROJECT / "docs" / "images" / "tour.svg"
_COLUMNS = 118
_PATIENCE = 60.0
"""Seconds until a command must have printed the expected text."""


@dataclass(frozen=True)
class Step:
    """A command of the tour.

    Attributes:
        command: for a shell.
        until: text in its output; until then, the command is repeated and its output is not recorded.
        last: the number of lines at the end of its output that are shown; all of them by default.
        admin: whether it runs in the project's folder; else in a clone of the tenant's repository.
    """

    command: str
    until: str = ""
    last: int | None = None
    admin: bool = False


TOUR = (
    Step("flux-tenancy tenant list --stack staging", admin=True),
    Step("sed -i 's/You are on staging: .*/Hello from the tour./' staging/welcome.yaml"),
    Step("git commit -qam 'Change the welcome' && git push -q"),
    Step("kubectl get configmap guestbook-welcome -n apps -o jsonpath='{.data}'", until="Hello"),
    Step("kubectl create service nodeport door --tcp=80 -n apps --dry-run=client -o yaml > staging/door.yaml"),
    Step("echo '  - door.yaml' >> staging/kustomization.yaml"),
    Step("git add . && git commit -qm 'Open a port on every node' && git push -q"),
    Step(
        "kubectl get events -n apps --field-selector type=Warning -o jsonpath='{.items[*].message}'",
        until="NodePort",
    ),
    Step("flux-tenancy isolation --stack staging", last=1, admin=True),
)


def record(address: str) -> Console:
    """Run the tour, and undo it in the repository.

    Args:
        address: that of the tenant's repository.

    Returns:
        A console that has recorded the commands and their output.

    Raises:
        LabError: a command fails, or does not print the expected text in time.
    """
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        _run(f"git clone -q {address} .", Path(folder))
        before = _run("git rev-parse HEAD", Path(folder)).strip()
        try:
            for step in TOUR:
                console.print(Text.assemble(("$ ", "bold green"), (step.command, "bold")))
                lines = _output(step, PROJECT if step.admin else Path(folder)).splitlines()
                for line in lines[-step.last :] if step.last else lines:
                    console.print(Text.from_ansi(line.rstrip()))
        finally:
            # The tree from before, as a commit: the branch's history stays.
            undo = "git diff --cached --quiet || git commit -qm 'Undo the tour' && git push -q"
            _run(f"git read-tree -u --reset {before} && {undo}", Path(folder))
    return console


def _output(step: Step, folder: Path) -> str:
    deadline = time.monotonic() + _PATIENCE
    while step.until not in (output := _run(step.command, folder)):
        if time.monotonic() > deadline:
            raise LabError(f"`{step.command}` does not print {step.until!r}: {output}", "run `make up` first")
        time.sleep(0.5)
    return "\n".join(line for line in output.splitlines() if line.strip())


def _run(command: str, folder: Path) -> str:
    environ = os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(_COLUMNS), "TERM": "xterm-256color"}
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environ, capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"`{command}` failed: {done.stderr.strip()}", 'run `make up` and `eval "$(make -s env)"` first')
    return done.stdout


if __name__ == "__main__":
    with reported():
        recorded = record(f"http://127.0.0.1:{Settings.load().port_base}/dev-team/apps.git")
        PICTURE.write_text(recorded.export_svg(title="staging", theme=MONOKAI, unique_id="tour"))
