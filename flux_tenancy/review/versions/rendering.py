"""The stacks of an earlier version of the project, rendered by its own program in another process.

That is the version that its requirements pin, which is installed once for each set of requirements, or, in the
program's own repository, what is in the tree. Where the program is the same, a fork of this process renders, with what
it has loaded already. If the earlier program cannot be installed or fails, today's renders the earlier files, and a
note says that the upgrade is not compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

from flux_tenancy.components.config.messages import printable
from flux_tenancy.components.engine.code import PACKAGE, REQUIREMENTS, read_by_pip
from flux_tenancy.review.admission.program import cache_folder
from flux_tenancy.review.render.rendered import Render, RenderedObject
from flux_tenancy.review.versions import render_process
from flux_tenancy.review.versions.trees import TODAY, Tree, pinned_version
from flux_tenancy.version import VERSION

_PROCESS = Path(render_process.__file__)
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
        command = [str(python), "-P", str(_PROCESS), found, str(self._folder), str(self._renders), *self._stacks]
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
        arguments: those of `render_process`.
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
            render_process.main(*arguments)
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
