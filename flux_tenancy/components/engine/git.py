"""Git, as every part of the program runs it: in a folder, and in no repository but the one that the folder is in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message, printable

_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
"""Variables that lead Git to another repository, such as those of a hook."""


def git(
    folder: Path, *arguments: str, stdin: bytes | None = None, at: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run Git in a folder; a caller looks at the exit code.

    Args:
        at: what leads Git to another index or work tree than those of the folder.

    Raises:
        FileNotFoundError: there is no Git.
    """
    environ = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE} | dict(at or {})
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, check=False, input=stdin, env=environ
    )


def repository(folder: Path) -> Path | None:
    """The top of the Git repository that a folder is in."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def tracked(folder: Path, *paths: str) -> list[str] | None:
    """The files that Git tracks below a folder, relative to it; None without Git, or outside of a repository.

    Raises:
        ConfigurationError: Git fails, e.g. because the repository is another user's.
    """
    top = repository(folder)
    inside = [each for each in paths if top and (folder / each).resolve().is_relative_to(top.resolve())]
    if top is None or paths and not inside:
        return None if top is None else []
    try:
        done = git(folder, "ls-files", "-z", "--", *inside)
    except FileNotFoundError:
        return None
    if done.returncode:
        reason = printable((os.fsdecode(done.stderr).strip().splitlines() or [f"exit code {done.returncode}"])[0])
        message = Message(
            "FT-CFG-636", f"Git cannot list the files of the project: {reason}", "correct it, and try again"
        )
        raise ConfigurationError([Problem(".git", "", message)])
    return [each for each in os.fsdecode(done.stdout).split("\0") if each]
