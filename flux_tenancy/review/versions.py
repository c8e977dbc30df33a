"""The project as it was at the merge base, as a folder beside the working tree, and its stacks as its own program
renders them.

The folder has everything that Git had, and links to what the working tree has and Git ignores: pinned releases, known
hosts, Python packages. Nothing of the repository or its working tree is changed.

The program is the version that the earlier requirements pin, which is installed once for each set of requirements, or,
in the program's own repository, what is in the tree. Where the program is the same, a fork of this process renders,
with what it has loaded already. If the earlier program cannot be installed or fails, today's renders the earlier files,
and a note says that the upgrade is not compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import getsource
from multiprocessing import get_context
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from flux_tenancy.components.config.messages import Message, Wording, printable
from flux_tenancy.components.engine.code import PACKAGE, REQUIREMENTS, git, read_by_pip
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.admission.program import cache_folder
from flux_tenancy.review.render.facts import WORKFLOW_FILES
from flux_tenancy.review.render.rendered import Render, RenderedObject
from flux_tenancy.version import VERSION

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
    """Run Git as `engine.code.git`; a caller looks at the exit code.

    Raises:
        OperationError: there is no Git.
    """
    try:
        return git(project, *arguments, stdin=stdin, at=at)
    except FileNotFoundError:
        raise OperationError(Message("FT-REV-201", "git is not on PATH", "install git")) from None


_REASON_CHARACTERS = 200


@dataclass(frozen=True)
class Version:
    """An earlier version of a stack.

    Attributes:
        render: what it applies; None if it cannot be rendered.
        note: why the comparison with it is incomplete; empty if it is not.
    """

    render: Render | None
    note: str = ""


def render_stacks(program: str, project: str, file: str, *stacks: str) -> None:
    """Render stacks by the program of any version of the project, and write them as JSON.

    What is wrong with a stack is written in its place. The Python of another version runs the source of this function
    alone, which imports nothing before it knows which program to import from.

    Args:
        program: the program's folder; empty for the installed one.
        file: where to.
    """
    import json
    import sys
    from importlib import import_module
    from pathlib import Path

    if program:
        sys.path.insert(0, program)
    errors = import_module("flux_tenancy.components.config.errors")
    module = import_module("flux_tenancy.review.render.stack")
    # What is installed is for the working tree, so it is not compared with what the earlier files require.
    render_stack = getattr(module, "rendered_files", module.render_stack)

    found: dict[str, object] = {}
    for stack in stacks:
        try:
            rendered = render_stack(Path(project), stack)
        except errors.ConfigurationError as error:
            found[stack] = {"problems": [str(problem) for problem in error.problems]}
        else:
            objects = [
                [each.owner, each.type, each.resource, each.manifest, each.protected] for each in rendered.objects
            ]
            found[stack] = {"objects": objects, "facts": getattr(rendered, "facts", None)}
    Path(file).write_text(json.dumps(found), encoding="utf-8")


class Rendering:
    """Renders that are being made.

    Args:
        tree: the earlier version.
        stacks: names of its stacks.
        temporary: an empty folder for what the process writes.
    """

    def __init__(self, tree: Tree, stacks: Sequence[str], temporary: Path) -> None:
        self._folder, self._stacks, self._temporary = tree.folder, stacks, temporary
        self._process: _Process
        # A fork has no other threads than the one that forked, so that what they held stays held.
        self._note, pinned = "", pinned_version(self._folder)
        if pinned == VERSION and threading.active_count() == 1:
            self._process = _Fork(self._errors, str(TODAY), str(self._folder), str(self._renders), *stacks)
            return
        program, python = TODAY, Path(sys.executable)
        if (self._folder / PACKAGE.name / "review" / "render" / "stack.py").is_file():
            program = self._folder
        elif pinned is None:
            self._note = "the program of the merge base cannot render; the current program rendered it"
        elif pinned != VERSION:
            try:
                program, python = Path(), installed_python(self._folder)
            except NotInstalledError as error:
                self._note = (
                    f"the merge base pins flux-tenancy {pinned}, which cannot be installed ({error}); version "
                    f"{VERSION} rendered it, without changes by the upgrade"
                )
        self._process = self._start(program, python)

    def versions(self) -> dict[str, Version]:
        """Wait for the renders; returns them by stack."""
        found, reason = self._wait()
        if found is None and not self._note:
            self._note = f"the program of the merge base failed ({reason}); the current program rendered it"
            self._process = self._start(TODAY)
            found, reason = self._wait()
        if found is None:
            return dict.fromkeys(self._stacks, Version(None, f"the merge base cannot be rendered: {reason}"))
        return {stack: self._version(stack, found[stack]) for stack in self._stacks}

    def stop(self) -> None:
        """End the process if it still runs."""
        self._process.kill()
        self._process.wait()

    def _start(self, program: Path, python: Path = Path(sys.executable)) -> subprocess.Popen[bytes]:
        found = str(program) if program != Path() else ""
        source = f"{getsource(render_stacks)}\nimport sys\n{render_stacks.__name__}(*sys.argv[1:])"
        command = [str(python), "-P", "-c", source, found, str(self._folder), str(self._renders), *self._stacks]
        with self._errors.open("w") as errors:
            return subprocess.Popen(command, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=errors)

    def _wait(self) -> tuple[Mapping[str, Any] | None, str]:
        """What the process has written, or None and why it failed."""
        status = self._process.wait()
        if status == 0:
            return json.loads(self._renders.read_bytes()), ""
        last = self._errors.read_text(errors="replace").strip().rpartition("\n")[2]
        return None, printable(last)[:_REASON_CHARACTERS] or f"exit code {status}"

    @property
    def _errors(self) -> Path:
        return self._temporary / "errors.txt"

    @property
    def _renders(self) -> Path:
        return self._temporary / "renders.json"

    def _version(self, stack: str, found: Mapping[str, Any]) -> Version:
        if problems := found.get("problems"):
            return Version(None, f"the merge base cannot be rendered: {printable('; '.join(problems))}")
        objects = (RenderedObject(*each) for each in found["objects"])
        facts = found.get("facts")
        return Version(Render.of(stack, objects, facts if isinstance(facts, Mapping) else None), self._note)


class _Process(Protocol):
    """A process that renders."""

    def wait(self) -> int | None: ...

    def kill(self) -> None: ...


class _Fork:
    """A fork of this process that renders.

    Args:
        errors: file for its errors.
        arguments: those of `render_stacks`.
    """

    def __init__(self, errors: Path, *arguments: str) -> None:
        self._process = get_context("fork").Process(target=_render, args=(errors, *arguments))
        self._process.start()

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()


def _render(errors: Path, *arguments: str) -> None:
    with errors.open("w") as file:
        try:
            render_stacks(*arguments)
        except Exception:
            traceback.print_exc(file=file)
            raise SystemExit(1) from None


@contextmanager
def rendering(tree: Tree, stacks: Sequence[str]) -> Iterator[Rendering]:
    """Render stacks of an earlier version while something else is done; ends with the context."""
    with tempfile.TemporaryDirectory(prefix="flux-tenancy-render-") as temporary:
        started = Rendering(tree, stacks, Path(temporary))
        try:
            yield started
        finally:
            started.stop()


_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--no-input")


class NotInstalledError(Exception):
    """What the merge base requires cannot be installed."""


def installed_python(project: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The Python of an environment with what a project requires; it is installed if it is not in the cache.

    Args:
        environ: the environment, with pip's own settings.

    Raises:
        NotInstalledError: pip fails, or there is no folder for caches.
    """
    cache = cache_folder(environ)
    if cache is None:
        raise NotInstalledError("there is no folder for caches")
    required = b"".join(file.read_bytes() for file in read_by_pip(project))
    digest = hashlib.sha256(required + sys.version.encode()).hexdigest()
    folder = cache / "programs" / digest[:16]
    python = folder / "bin" / "python"
    if python.is_file():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    # An environment cannot be moved, so an unfinished one has no mark.
    unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        _run([sys.executable, "-m", "venv", str(unfinished)], project, environ)
        _run([str(unfinished / "bin" / "python"), *_PIP, "-r", REQUIREMENTS], project, environ)
        # Whoever is first wins.
        folder.symlink_to(unfinished.name)
    except FileExistsError:
        shutil.rmtree(unfinished, ignore_errors=True)
    except (NotInstalledError, OSError):
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return python


def _run(command: list[str], folder: Path, environ: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NotInstalledError(str(error)) from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise NotInstalledError(printable(last.removeprefix("ERROR: "))[:_REASON_CHARACTERS])
