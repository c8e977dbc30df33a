"""The files of Pulumi's own backend, for the one error that the engine tells without naming a file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from lab.errors import LabError


def damaged_state(backend: Path) -> LabError | None:
    """The error of a state that is truncated, as by a kill or a full disk, with the way back to the newest valid one.

    One such file stops `pulumi` for its stack, and `pulumi stack ls` for all. The state itself is renamed into place;
    the attributes beside it are written in place, so it is them that a kill truncates. Pulumi reads a state without.

    Source: `writerWithSidecar` in blob/fileblob of gocloud.dev

    Args:
        backend: the folder of a backend `file://`.
    """
    stacks = backend / ".pulumi" / "stacks"
    for state in sorted(stacks.glob("*/*.json")):
        if not _is_whole(state):
            return _error(backend, state)
        attributes = state.with_name(f"{state.name}.attrs")
        if attributes.exists() and not _is_whole(attributes):
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
    whole = next((file for file in earlier if _is_whole(file)), None)
    if whole:
        copy = shlex.join(["cp", str(whole), str(state)])
        remedy = (
            f"make room if the disk is full; `{copy}` brings the state before back, then `pulumi refresh -s {stack}`"
        )
    else:
        remedy = f"no earlier state is whole either; delete the file and `make down STACK={stack}` to begin anew"
    return LabError(f"the state of the stack {stack} in {state} is damaged: it is empty or cut off", remedy)


def _is_whole(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_bytes()), dict)
    except (OSError, ValueError):
        return False
