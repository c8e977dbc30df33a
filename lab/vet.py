"""Checks the lab's own Go packages with go vet: ``python -m lab.vet``.

It compiles what the packages import, unless the builder has done so already: both use the same cache and flags.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from lab.build_key import COMPILED_ALIKE
from lab.build_lock import build_lock
from lab.errors import LabError, reported
from lab.go_command import Go, GoError
from lab.settings import Settings
from lab.tool_cache import ToolCache
from lab.tools_table import Tool, load_table, modules_folder

_LEFT_OUT = ("pulumi-kubernetes", "pulumi-github", "gitea", "kubernetes")
"""Modules that would take minutes to compile where the builder has trimmed its cache. Of the first three, only a main
of a few lines is the lab's own: one embeds files that the builder puts beside it, so that it does not compile as it
stands, and the others would have a whole provider or server compiled. The node agent, in the last, is vetted with its
tests, which compile all of it (``tests/engine/test_lab_programs.py``)."""


def vet(settings: Settings) -> None:
    """Checks the packages of the checkout, tests included.

    Raises:
        LabError: go vet finds something, Go is missing or too old, or the cache cannot be written to.
    """
    cache = ToolCache(settings.cache)
    modules = modules_folder(settings.project)
    go = Go(cache.go_cache, cache.work)
    tools = _own(load_table(settings.project, go).values())
    try:
        cache.prepare()
        # A build that ends meanwhile would delete compiled packages that go vet is about to read.
        with build_lock(cache.lock, partial(print, file=sys.stderr)):
            cache.clear_work()
            found = [line for tool in tools for line in _vet(go, tool, modules)]
    except OSError as error:
        raise cache.not_writable(error) from error
    if found:
        raise LabError("go vet finds this:\n" + "\n".join(f"    {line}" for line in found), "correct the Go sources")


def _own(tools: Iterable[Tool]) -> list[Tool]:
    """The tools whose source is the lab's; of a source that two modules share, the one that has it."""
    return [
        tool
        for tool in tools
        if tool.package.startswith(".") and not tool.package_from and tool.module not in _LEFT_OUT
    ]


def _vet(go: Go, tool: Tool, modules: Path) -> list[str]:
    """What go vet says of a tool's packages; nothing where all is well."""
    try:
        go.run(["vet", *COMPILED_ALIKE, f"{tool.package}/..."], modules / tool.module)
    except GoError as error:
        return error.output
    return []


if __name__ == "__main__":
    with reported():
        vet(Settings.load())
