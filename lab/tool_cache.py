"""The folder that keeps finished tools, outside the checkout, and what building leaves there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.tools_table import Tool

GIGABYTE = 10**9

_ELSEWHERE = "set FLUX_TENANCY_CACHE to a folder"

GO_CACHE_AT_END = 5 * GIGABYTE
"""Bytes of compiled packages that may stay when a run has built all that it was asked for: those that a later run
may share, of the lab's own programs' tests or of another release."""

_KEPT_BUILDS = 2
"""Builds of one tool that are kept: the newest, and the one before, which a running lab may still use."""


def room_for(tools: Iterable[Tool]) -> float:
    """The disk space in bytes that building tools takes at its peak, which is its end."""
    return sum(tool.room.compiled + tool.room.kept for tool in tools) * GIGABYTE


@dataclass(frozen=True)
class ToolCache:
    """Layout of the cache folder.

    ``tools/<name>/<key>/`` holds a finished tool and its assets and appears at once, complete. ``build/``
    holds what building needs: logs, staged sources, compiled packages and remembered keys. It may be deleted
    while nothing is built.

    Attributes:
        root: the folder, e.g. ~/.cache/flux-tenancy.
    """

    root: Path

    @property
    def go_cache(self) -> Path:
        """Compiled packages; an interrupted build goes on from here."""
        return self.root / "build" / "go-cache"

    @property
    def work(self) -> Path:
        """Temporary files of the compiler; what a killed build left there is deleted by the next."""
        return self.root / "build" / "tmp"

    @property
    def lock(self) -> Path:
        """The file that the process which builds holds locked."""
        return self.root / "build" / "lock"

    def log(self, tool: Tool) -> Path:
        """The full output of the tool's last build."""
        return self.root / "build" / "logs" / f"{tool.name}.log"

    def source(self, tool: Tool) -> Path:
        """The copy of the tool's module folder that it is built in, so that the checkout may be read-only.

        Each tool has its own: one of the same folder may be made while it is built.
        """
        return self.root / "build" / "src" / tool.name

    def result(self, tool: Tool, key: str) -> Path:
        """The file that a tool is, there or not."""
        return self._tool(tool) / key / tool.file

    def prepare(self) -> None:
        """Makes the folders."""
        for folder in ("build/logs", "build/src", "build/keys", "tools"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)

    def not_writable(self, error: OSError) -> LabError:
        """What to tell the user when something could not be written to the cache."""
        return LabError(
            f"the tool cache {self.root} cannot be written to ({error.strerror})",
            f"{_ELSEWHERE} that can, with room for the tools",
        )

    def clear_work(self) -> None:
        """Makes the folder for temporary files anew; only for the process that holds the lock."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()

    def require_room(self, tools: Iterable[Tool]) -> None:
        """Checks that the disk has room for building tools.

        Raises:
            LabError: it has not.
        """
        needed = room_for(tools)
        free = shutil.disk_usage(self.root).free
        if free < needed:
            raise LabError(
                f"building the missing tools needs {needed / GIGABYTE:.1f} GB in {self.root},"
                f" and {free / GIGABYTE:.1f} GB are free",
                f"make room, or {_ELSEWHERE} on a larger disk",
            )

    def remembered_key(self, digest: str) -> str | None:
        """The key that inputs with this digest had when they were last looked at."""
        memory = self._memory(digest)
        return memory.read_text() if memory.is_file() else None

    def remember_key(self, digest: str, key: str) -> None:
        """Keeps the key of inputs, so that next time they need not be looked at."""
        self._memory(digest).write_text(key)

    @contextmanager
    def publishing(self, tool: Tool, key: str) -> Iterator[Path]:
        """A folder to make a tool in, which becomes ``tools/<name>/<key>`` when the block ends well."""
        parent = self._tool(tool)
        parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=parent, ignore_cleanup_errors=True) as folder:
            new = Path(folder, key)
            new.mkdir()
            yield new
            new.rename(parent / key)
        self._forget_old_builds(parent)

    def limit_compiled_packages(self, size: int) -> None:
        """Deletes compiled packages until they take no more than so many bytes, those first that were used first."""
        files = [(file, file.stat()) for file in self.go_cache.rglob("*") if file.is_file()]
        taken = sum(status.st_size for _, status in files)
        for file, status in sorted(files, key=lambda entry: entry[1].st_mtime_ns):
            if taken <= size:
                break
            file.unlink()
            taken -= status.st_size

    def _tool(self, tool: Tool) -> Path:
        return self.root / "tools" / tool.name

    def _memory(self, digest: str) -> Path:
        return self.root / "build" / "keys" / digest

    @staticmethod
    def _forget_old_builds(parent: Path) -> None:
        builds = sorted((entry for entry in parent.iterdir() if entry.is_dir()), key=os.path.getmtime)
        for build in builds[:-_KEPT_BUILDS]:
            shutil.rmtree(build)
