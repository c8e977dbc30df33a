"""The program at an earlier commit: today's program must not change the stacks that it applied."""

from __future__ import annotations

import subprocess
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from tests.support.environment import Environment
from tests.support.project import CHECKOUT

COMMIT = "47c1c7672114153d9ca37097616d885acbebfee6"
"""The last one that changed applied stacks on purpose. After a further one, use that."""


@dataclass(frozen=True)
class Upgraded:
    """A stack that the earlier program has applied.

    Attributes:
        stack: the stack; from now on today's program runs it.
        changes: what the first preview by today's program would change, as `Project.changes` has it.
    """

    stack: Environment
    changes: dict[str, list[str]]


class EarlierProgram:
    """The program of a commit, with the Python packages of today.

    Args:
        folder: where it is unpacked; must not exist yet.
        commit: the commit.
    """

    def __init__(self, folder: Path, commit: str = COMMIT) -> None:
        self._folder = folder
        found = _git("cat-file", "-e", f"{commit}^{{commit}}")
        assert found.returncode == 0, (
            f"this clone lacks commit {commit}, the program that tests bring stacks up with; "
            f"fetch the whole history with `git fetch --unshallow`\n{found.stderr.decode()}"
        )
        archive = _git("archive", commit)
        assert archive.returncode == 0, archive.stderr.decode()
        folder.mkdir()
        subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
        (folder / ".venv").symlink_to(CHECKOUT / ".venv")

    def running(self, stack: Environment) -> AbstractContextManager[None]:
        """Run this program for a stack during the block."""
        return stack.project.using(self._folder)

    def bring_up(self, stack: Environment) -> Upgraded:
        """Apply a stack by this program, and preview it by today's."""
        with self.running(stack):
            stack.up()
        return Upgraded(stack, stack.changes())


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(CHECKOUT), *arguments], capture_output=True, check=False)
