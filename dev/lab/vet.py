"""Checks the lab's own Go packages with go vet: ``python -m dev.lab.vet``.

It compiles the imports of the packages, unless the builder has already done so: both use the same cache and flags.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from dev.lab.build_key import COMPILED_ALIKE
from dev.lab.build_lock import build_lock
from dev.lab.errors import LabError, reported
from dev.lab.go_command import Go, GoError
from dev.lab.settings import Settings
from dev.lab.tool_cache import ToolCache
from dev.lab.tools_table import ADMISSION, Tool, load_table, modules_folder

_LEFT_OUT = ("pulumi-kubernetes", "pulumi-github", "gitea", "kubernetes", ADMISSION)
"""Modules that take minutes to compile after the builder has trimmed its cache. In the first three, only a main package
of a few lines is the lab's own: one embeds files that the builder adds, so that it does not compile in the checkout,
and the others import a whole provider or server. The node agent, in ``kubernetes``, is vetted with its tests, which
compile all of it (``tests/engine/test_lab_programs.py``)."""


def vet(settings: Settings) -> None:
    """Checks the packages of the checkout, tests included.

    Raises:
        LabError: go vet reports something, Go is missing, or the cache is not writable.
    """
    cache = ToolCache(settings.cache)
    modules = modules_folder(settings.project)
    go = Go(cache.go_cache, cache.work)
    tools = _own(load_table(settings.project, go).values())
    try:
        cache.prepare()
        # A build that ends in the meantime would delete compiled packages that go vet is about to read.
        with build_lock(cache.lock, partial(print, file=sys.stderr)):
            cache.clear_work()
            found = [line for tool in tools for line in _vet(go, tool, modules)]
    except OSError as error:
        raise cache.not_writable(error) from error
    if found:
        raise LabError("go vet reports:\n" + "\n".join(f"    {line}" for line in found), "fix the Go sources")


def _own(tools: Iterable[Tool]) -> list[Tool]:
    """The tools whose source is the lab's own; if two modules share it, the tool of the module that contains it."""
    return [
        tool
        for tool in tools
        if tool.package.startswith(".") and not tool.package_from and tool.module not in _LEFT_OUT
    ]


def _vet(go: Go, tool: Tool, modules: Path) -> list[str]:
    """The output of go vet for a tool's packages; empty if there is nothing to report."""
    try:
        go.run(["vet", *COMPILED_ALIKE, f"{tool.package}/..."], modules / tool.module)
    except GoError as error:
        return error.output
    return []


if __name__ == "__main__":
    with reported():
        vet(Settings.load())
