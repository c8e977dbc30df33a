"""The stacks of an earlier version of the project, rendered by its own program in another process.

A program of before the offline render cannot render. Then today's program renders the earlier files, and what changed
in the program itself is not in the comparison.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.config.printable import printable
from review.rendered import Render, RenderedObject

_PROCESS = Path(__file__).with_name("render_process.py")
_TODAY = Path(__file__).parents[1]
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
        folder: folder of the earlier version.
        stacks: names of its stacks.
        temporary: an empty folder for what the process writes.
    """

    def __init__(self, folder: Path, stacks: Sequence[str], temporary: Path) -> None:
        self._folder, self._stacks, self._temporary = folder, stacks, temporary
        has_render = (folder / "review" / "render.py").is_file()
        self._note = "" if has_render else "the merge base has a program that cannot render; today's rendered it"
        self._process = self._start(folder if has_render else _TODAY)

    def versions(self) -> dict[str, Version]:
        """Wait for the renders; returns them by stack."""
        found, reason = self._wait()
        if found is None and not self._note:
            self._note = f"the program of the merge base failed ({reason}); today's rendered it"
            self._process = self._start(_TODAY)
            found, reason = self._wait()
        if found is None:
            return dict.fromkeys(self._stacks, Version(None, f"the merge base cannot be rendered: {reason}"))
        return {stack: self._version(stack, found[stack]) for stack in self._stacks}

    def stop(self) -> None:
        """End the process if it still runs."""
        self._process.kill()
        self._process.wait()

    def _start(self, program: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", *map(str, (_PROCESS, program, self._folder, self._renders)), *self._stacks]
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
        return Version(Render.of(stack, (RenderedObject(*each) for each in found["objects"])), self._note)


@contextmanager
def rendering(folder: Path, stacks: Sequence[str]) -> Iterator[Rendering]:
    """Render stacks of an earlier version while something else is done; ends with the context.

    Args:
        folder: folder of the earlier version.
        stacks: names of its stacks.
    """
    with tempfile.TemporaryDirectory(prefix="flux-tenancy-render-") as temporary:
        started = Rendering(folder, stacks, Path(temporary))
        try:
            yield started
        finally:
            started.stop()
