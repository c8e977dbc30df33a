"""Downloads what later tools are made of while earlier ones are compiled, which leaves the network idle."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from threading import Event, Thread

from lab.go_command import Go
from lab.tools_table import Tool

_POLL_SECONDS = 0.1


@contextmanager
def downloading_ahead(go: Go, tools: Sequence[Tool], modules: Path) -> Iterator[None]:
    """Downloads the Go modules of tools, in the tools' order, for as long as the block runs.

    It only saves time: what it fails at, or does not come to, is downloaded when the tool is built, and told there.

    Args:
        modules: the folder with the pinned Go modules.
    """
    ended = Event()
    downloading = Thread(target=_download, args=(go, tools, modules, ended))
    downloading.start()
    try:
        yield
    finally:
        ended.set()
        downloading.join()


def _download(go: Go, tools: Sequence[Tool], modules: Path, ended: Event) -> None:
    for module, its_tools in groupby(tools, key=lambda tool: tool.module):
        # Whoever lists packages has to read them; `go mod download` would fetch what no tool contains.
        if not _run(go, listing(list(its_tools)), modules / module, ended):
            return


def listing(tools: Sequence[Tool], *flags: str) -> list[str]:
    """Arguments of the Go command that reads all packages of one module's tools, and so downloads what they are in."""
    return ["list", *flags, "-e", "-deps", *(tool.package for tool in tools)]


def _run(go: Go, arguments: list[str], folder: Path, ended: Event) -> bool:
    """Whether the command came to its end before it was no longer wanted."""
    with subprocess.Popen(
        [go.executable, *arguments],
        cwd=folder,
        env=dict(go.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None:
            if ended.wait(_POLL_SECONDS):
                process.terminate()
                return False
    return True
