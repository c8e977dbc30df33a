"""The files of Pulumi's backend, for an error in which the engine names no file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from dev.lab.errors import LabError


def damaged_state(backend: Path) -> LabError | None:
    """The error for a truncated state, as from a kill or a full disk, with the command that repairs it.

    With such a file, `pulumi` fails for its stack, and `pulumi stack ls` for all stacks. A kill truncates only the
    attributes next to the state: Pulumi writes them in place, and does not need them.

    Source: `writerWithSidecar` in blob/fileblob of gocloud.dev

    Args:
        backend: the folder of a `file://` backend.
    """
    stacks = backend / ".pulumi" / "stacks"
    for state in sorted(stacks.glob("*/*.json")):
        if not _is_intact(state):
            return _error(backend, state)
        attributes = state.with_name(f"{state.name}.attrs")
        if attributes.exists() and not _is_intact(attributes):
            return LabError(
                f"{attributes}, which Pulumi reads with the state of stack {state.stem}, is truncated",
                f"delete it with `{shlex.join(['rm', str(attributes)])}`; the state does not need it",
            )
    return None


def _error(backend: Path, state: Path) -> LabError:
    stack = state.stem
    history = backend / ".pulumi" / "history" / state.parent.name / stack
    # The backend writes the backup before each change of the state, and a checkpoint after each update.
    earlier = [state.with_name(f"{state.name}.bak"), *sorted(history.glob("*.checkpoint.json"), reverse=True)]
    intact = next((file for file in earlier if _is_intact(file)), None)
    if intact:
        copy = shlex.join(["cp", str(intact), str(state)])
        remedy = (
            "free some space if the disk is full;"
            f" `{copy}` restores the previous state, then run `pulumi refresh -s {stack}`"
        )
    else:
        remedy = f"no earlier state is intact; delete the file and run `make down STACK={stack}` to start from scratch"
    return LabError(f"the state of the stack {stack} in {state} is damaged: the file is empty or truncated", remedy)


def _is_intact(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_bytes()), dict)
    except (OSError, ValueError):
        return False
