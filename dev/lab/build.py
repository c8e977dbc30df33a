"""Builds the lab's tools from their pinned Go modules, each one when its own inputs have changed.

``python -m dev.lab.build up`` builds what the staging stack needs, ``test`` also what the tests need, ``test-all``
everything; other arguments are names of tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, get_args

import typer

from dev.lab.build_key import input_digest
from dev.lab.build_lock import build_lock
from dev.lab.build_pipeline import run_all
from dev.lab.build_source import source_folders
from dev.lab.build_tool import ToolBuild
from dev.lab.errors import LabError, reported
from dev.lab.go_command import Go
from dev.lab.progress import BuildProgress
from dev.lab.settings import Settings
from dev.lab.tool_cache import GO_CACHE_AT_END, ToolCache
from dev.lab.tools_table import Purpose, Tool, load_table, modules_folder


def ensure(settings: Settings, names: Iterable[str], progress: BuildProgress | None = None) -> dict[str, Path]:
    """Builds missing tools.

    Args:
        names: names of the tools.
        progress: receives the progress; by default a display on standard error.

    Returns:
        The path of each tool by its name. Its assets (``assets`` in the table) are in the same folder.

    Raises:
        LabError: a name is unknown, the disk is full, the cache is not writable, Go is missing, or a build
            fails.
    """
    return _Tools(settings).ensure(names, progress)


def built(settings: Settings, name: str) -> Path | None:
    """The path of a tool, if it is built from the checkout's sources; None otherwise.

    Raises:
        LabError: the name is unknown, or Go is missing.
    """
    return _Tools(settings).built(name)


def tools_for(settings: Settings, purpose: Purpose) -> list[str]:
    """Names of the tools that a purpose needs, including those of the purposes before it."""
    purposes = get_args(Purpose)
    needed = purposes[: purposes.index(purpose) + 1]
    return [name for name, tool in _Tools(settings).table.items() if tool.purpose in needed]


def pinned_version(settings: Settings, name: str) -> str:
    """The version of a tool that go.mod pins, e.g. v3.276.0 for ``pulumi``; empty for tools of the lab's own.

    Raises:
        LabError: there is no tool of this name.
    """
    return _Tools(settings).select([name])[0].version


class _Tools:
    """The tools of a checkout, and their results in the cache."""

    def __init__(self, settings: Settings) -> None:
        self._modules = modules_folder(settings.project)
        self._cache = ToolCache(settings.cache)
        self._go = Go(self._cache.go_cache, self._cache.work)
        self.table: Mapping[str, Tool] = load_table(settings.project, self._go)

    def select(self, names: Iterable[str]) -> list[Tool]:
        """The named tools, in the order of the table."""
        wanted = set(names)
        if unknown := wanted - set(self.table):
            raise LabError(
                f"there is no tool named {', '.join(sorted(unknown))}",
                f"choose from {', '.join(self.table)}",
            )
        return [tool for name, tool in self.table.items() if name in wanted]

    def built(self, name: str) -> Path | None:
        return self._finished(self.select([name])).get(name)

    def ensure(self, names: Iterable[str], progress: BuildProgress | None) -> dict[str, Path]:
        tools = self.select(names)
        files = self._finished(tools)
        if len(files) < len(tools):
            try:
                files = self._complete(tools, progress or BuildProgress())
            except OSError as error:
                raise self._cache.not_writable(error) from error
        return {tool.name: files[tool.name] for tool in tools}

    def _complete(self, tools: list[Tool], progress: BuildProgress) -> dict[str, Path]:
        self._cache.prepare()
        with progress, build_lock(self._cache.lock, progress.say):
            # Another process may have built some of them in the meantime.
            files = self._finished(tools)
            return files | self._build_all([tool for tool in tools if tool.name not in files], progress)

    def _build_all(self, missing: list[Tool], progress: BuildProgress) -> dict[str, Path]:
        self._cache.clear_work()
        self._cache.require_room(missing)
        builds = [ToolBuild(self._go, self._cache, self._modules, tool, progress) for tool in missing]
        files = run_all(self._go, builds, progress)
        self._cache.limit_compiled_packages(GO_CACHE_AT_END)
        return {tool.name: file for tool, file in zip(missing, files, strict=True)}

    def _finished(self, tools: Iterable[Tool]) -> dict[str, Path]:
        """The files of the tools that are in the cache, by name."""
        keys = [(tool, self._cache.remembered_key(self._digest(tool))) for tool in tools]
        files = {tool.name: self._cache.result(tool, key) for tool, key in keys if key}
        return {name: file for name, file in files.items() if file.is_file()}

    def _digest(self, tool: Tool) -> str:
        return input_digest(self._go, tool, source_folders(self._modules, tool))


def _main(
    names: Annotated[list[str], typer.Argument(help="`up`, `test`, `test-all`, or names of tools")],
) -> None:
    """Build the lab's missing tools, and print the path of each tool."""
    with reported("run the same command again to continue"):
        settings = Settings.load()
        wanted = [tool for name in names for tool in _expand(settings, name)]
        for name, file in ensure(settings, wanted).items():
            print(name, file)


def _expand(settings: Settings, name: str) -> list[str]:
    for purpose in get_args(Purpose):
        if name == purpose:
            return tools_for(settings, purpose)
    return [name]


if __name__ == "__main__":
    typer.run(_main)
