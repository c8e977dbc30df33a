"""The project as it was at the merge base, as a folder beside the working tree.

It has everything that Git had, and links to what the working tree has and Git ignores: pinned releases, known hosts,
Python packages. Nothing of the repository or its working tree is changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.engine.code import PACKAGE
from flux_tenancy.components.engine.git import git
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.render.facts import WORKFLOW_FILES

NOT_A_CLONE = Wording("FT-REV-202", "{project} is not in a Git repository", "run the command in a clone")

TODAY = PACKAGE.parent
"""The folder of the program that runs: this repository, or the packages of the environment that the wheel is in."""
_PINNED = re.compile(r"^flux-tenancy==([^\s;#]+)", re.MULTILINE)
_BYTECODE = frozenset({"__pycache__", "bytecode", ".pytest_cache", ".mypy_cache", ".ruff_cache"})


@dataclass(frozen=True)
class Tree:
    """A version of the project.

    Attributes:
        folder: the project's folder in it.
        commit: the commit that it is from.
    """

    folder: Path
    commit: str


@contextmanager
def merge_base(project: Path, base: str) -> Iterator[Tree]:
    """The project at the merge base of a branch and the working tree's HEAD, as long as the context lasts.

    Args:
        base: what the change is to be merged into, e.g. `main` or `origin/main`.

    Raises:
        OperationError: there is no Git, no repository, no such commit, or no common history.
    """
    commit = _merge_base(project, base)
    with tempfile.TemporaryDirectory(prefix="flux-tenancy-base-") as temporary:
        repository, prefix = (
            Path(os.fsdecode(run_git(project, "rev-parse", option).stdout).rstrip("\n"))
            for option in ("--show-toplevel", "--show-prefix")
        )
        top = Path(temporary, project.name)
        folder = top / prefix
        # So that a render can ask which files are the repository's.
        run_git(repository, "init", "--quiet", "--template=", str(top))
        git_folder = os.fsdecode(run_git(repository, "rev-parse", "--absolute-git-dir").stdout).rstrip("\n")
        at = {"GIT_DIR": git_folder, "GIT_WORK_TREE": str(top), "GIT_INDEX_FILE": str(top / ".git" / "index")}
        run_git(top, "read-tree", commit, at=at)
        # As a checkout writes them: an archive leaves files out, and changes others, as their attributes say.
        listed = run_git(top, "ls-files", "-z", "--", str(prefix), *WORKFLOW_FILES, at=at).stdout
        written = run_git(top, "checkout-index", "-z", "--stdin", stdin=listed, at=at)
        if written.returncode or not folder.is_dir():
            raise OperationError(
                Message(
                    "FT-REV-206",
                    f"commit {commit[:10]} does not have {project}, as Git ignores it or it is new",
                    "run the command where the project is committed, or commit it first",
                )
            )
        for path in _ignored(project):
            _link(project / path, folder / path)
        yield Tree(folder, commit)


def _merge_base(project: Path, base: str) -> str:
    if run_git(project, "rev-parse", "--git-dir").returncode:
        raise OperationError(NOT_A_CLONE(project=project))
    shown = printable(base)
    found = run_git(project, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
    if found.returncode:
        raise OperationError(
            Message(
                "FT-REV-203",
                f"this clone has no commit {shown}",
                "name a branch or commit that it has with `--base`, such as origin/main",
            )
        )
    common = run_git(project, "merge-base", found.stdout.decode().strip(), "HEAD")
    if common.returncode:
        raise OperationError(
            Message(
                "FT-REV-204",
                f"{shown} and HEAD have no common history in this clone",
                "fetch the whole history with `git fetch --unshallow`, or in GitHub's checkout with `fetch-depth: 0`",
            )
        )
    return common.stdout.decode().strip()


def pinned_version(project: Path) -> str | None:
    """The version of this program that a project pins in `requirements.txt`; None if it pins none."""
    try:
        found = _PINNED.search((project / "requirements.txt").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return printable(found[1]) if found else None


def _ignored(project: Path) -> list[PurePosixPath]:
    """What the project has and Git ignores, relative to it; whole folders as one."""
    options = ("--others", "--ignored", "--exclude-standard", "--directory", "-z")
    listed = os.fsdecode(run_git(project, "ls-files", *options).stdout)
    paths = (PurePosixPath(path) for path in listed.split("\0") if path)
    return [path for path in paths if not _BYTECODE & set(path.parts)]


def _link(target: Path, link: Path) -> None:
    # Git had a file there that is ignored by now, or not the folder that the file is in.
    if link.parent.is_dir() and not link.exists():
        link.symlink_to(target)


def run_git(
    project: Path, *arguments: str, stdin: bytes | None = None, at: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run Git as `engine.git.git`; a caller looks at the exit code.

    Raises:
        OperationError: there is no Git.
    """
    try:
        return git(project, *arguments, stdin=stdin, at=at)
    except FileNotFoundError:
        raise OperationError(Message("FT-REV-201", "git is not on PATH", "install git")) from None
