"""The folder with finished tools, outside the checkout, and with the intermediate files of builds."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev.lab.errors import LabError
from dev.lab.tools_table import Tool

GIGABYTE = 10**9

_ELSEWHERE = "set FLUX_TENANCY_CACHE to a folder"

GO_CACHE_AT_END = 5 * GIGABYTE
"""Bytes of compiled packages that are kept after a build, for tests of the lab's own programs or for builds of other
releases."""

_KEPT_BUILDS = 2
"""Builds of one tool that are kept: the newest, and the previous one, which a running lab may still use."""


def room_for(tools: Iterable[Tool]) -> float:
    """The disk space in bytes that building tools takes at its peak, which is at the end."""
    return sum(tool.room.compiled + tool.room.kept for tool in tools) * GIGABYTE


@dataclass(frozen=True)
class ToolCache:
    """Layout of the cache folder.

    ``tools/<name>/<key>/`` contains a finished tool and its assets, and is created atomically. ``build/`` contains
    logs, staged sources, compiled packages and remembered keys. It can be deleted while no build is running.

    Attributes:
        root: the folder, e.g. ~/.cache/flux-tenancy.
    """

    root: Path

    @property
    def go_cache(self) -> Path:
        """Compiled packages; an interrupted build continues from here."""
        return self.root / "build" / "go-cache"

    @property
    def work(self) -> Path:
        """Temporary files of the compiler; the next build deletes those of a killed one."""
        return self.root / "build" / "tmp"

    @property
    def lock(self) -> Path:
        """The lock file of the process that builds."""
        return self.root / "build" / "lock"

    def log(self, tool: Tool) -> Path:
        """The full output of the tool's last build."""
        return self.root / "build" / "logs" / f"{tool.name}.log"

    def source(self, tool: Tool) -> Path:
        """The copy of the tool's module folder in which it is built, so that the checkout can be read-only.

        Each tool has its own copy: another tool of the same module may be prepared while it is built.
        """
        return self.root / "build" / "src" / tool.name

    def result(self, tool: Tool, key: str) -> Path:
        """The path of a finished tool, whether it exists or not."""
        return self._tool(tool) / key / tool.file

    def prepare(self) -> None:
        """Creates the folders."""
        for folder in ("build/logs", "build/src", "build/keys", "tools"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)

    def not_writable(self, error: OSError) -> LabError:
        """The error for a cache that cannot be written."""
        return LabError(
            f"cannot write to the tool cache {self.root}: {error.strerror}",
            f"{_ELSEWHERE} that is writable and has space for the tools",
        )

    def clear_work(self) -> None:
        """Empties the folder for temporary files; only for the process that holds the lock."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()

    def require_room(self, tools: Iterable[Tool]) -> None:
        """Checks that the disk has enough space for building tools.

        Raises:
            LabError: there is too little space.
        """
        needed = room_for(tools)
        free = shutil.disk_usage(self.root).free
        if free < needed:
            raise LabError(
                f"building the missing tools needs {needed / GIGABYTE:.1f} GB in {self.root},"
                f" but only {free / GIGABYTE:.1f} GB are free",
                f"free some space, or {_ELSEWHERE} on a larger disk",
            )

    def remembered_key(self, digest: str) -> str | None:
        """The key that was remembered for inputs with this digest."""
        memory = self._memory(digest)
        return memory.read_text() if memory.is_file() else None

    def remember_key(self, digest: str, key: str) -> None:
        """Remembers the key for inputs with this digest, so that it need not be computed again."""
        self._memory(digest).write_text(key)

    @contextmanager
    def publishing(self, tool: Tool, key: str) -> Iterator[Path]:
        """A folder for building a tool, which becomes ``tools/<name>/<key>`` if the block succeeds."""
        parent = self._tool(tool)
        parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=parent, ignore_cleanup_errors=True) as folder:
            new = Path(folder, key)
            new.mkdir()
            yield new
            new.rename(parent / key)
        self._forget_old_builds(parent)

    def limit_compiled_packages(self, size: int) -> None:
        """Deletes the least recently used compiled packages until the others take at most ``size`` bytes."""
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
