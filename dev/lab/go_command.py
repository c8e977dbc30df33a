"""The Go command, in an environment that depends only on the lab."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from threading import Event
from typing import Any

from dev.lab.errors import LabError

_GO_FLAGS = "-mod=readonly"
"""Nothing is resolved at build time: a module that is missing in go.mod or go.sum is an error."""

_DOWNLOADS_AT_ONCE = {"GOMAXPROCS": "8"}
"""For commands that download: Go downloads as many modules at once as it thinks it has processors."""

_INSTALL_GO = "install a recent Go toolchain (https://go.dev/dl)"

LineHandler = Callable[[str], None]
"""Receives one line of a command's standard error, without the newline."""


class GoError(Exception):
    """A Go command failed.

    Attributes:
        output: the lines of its standard error.
    """

    def __init__(self, arguments: list[str], output: list[str]) -> None:
        super().__init__(f"go {' '.join(arguments)} failed")
        self.output = output


class GoStopped(Exception):
    """A Go command was stopped or not started, since :meth:`Go.stop` was called."""


@dataclass(frozen=True)
class Pin:
    """The effective path and version of a module in a go.mod, after its replace directives.

    Attributes:
        replaced: whether there is such a directive.
    """

    path: str
    version: str
    replaced: bool = False


@dataclass(frozen=True)
class Go:
    """The Go command of this machine, with the lab's build cache.

    Attributes:
        build_cache: folder that ``go build`` keeps compiled packages in (GOCACHE).
        work: folder for temporary files (GOTMPDIR), so that they are on the same disk.
    """

    build_cache: Path
    work: Path
    _running: set[subprocess.Popen[str]] = field(default_factory=set, init=False, repr=False, compare=False)
    _stopped: Event = field(default_factory=Event, init=False, repr=False, compare=False)

    @property
    def stopped(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Stops the commands that run in any thread, and prevents new ones."""
        self._stopped.set()
        for process in list(self._running):
            process.terminate()

    @cached_property
    def executable(self) -> str:
        """Path of the Go command.

        Raises:
            LabError: there is no Go on PATH.
        """
        if found := shutil.which("go"):
            return found
        raise LabError("Go is not installed: there is no `go` on the PATH", f"{_INSTALL_GO} and try again")

    @cached_property
    def environment(self) -> dict[str, str]:
        """The user's environment without settings that would change the result.

        Proxy, checksum database and module cache are the user's. A variable has to be set, not just removed, to
        take precedence over ``go env -w``.
        """
        own = {
            "GOCACHE": str(self.build_cache),
            "GOTMPDIR": str(self.work),
            "GOFLAGS": _GO_FLAGS,
            # The compiler allocates much and ends soon; fewer garbage collections save a fifth of the time.
            "GOGC": "800",
            # No program needs C, and the machine may not have a C compiler.
            "CGO_ENABLED": "0",
            # This Go, or the newer one that a go.mod requires, which Go downloads as a module.
            "GOTOOLCHAIN": "auto",
            "GOWORK": "off",
        }
        return os.environ | own

    @cached_property
    def platform(self) -> Mapping[str, str]:
        """The toolchain and its target: the go env variables that a build depends on."""
        # In the folder of a module, it would be that module's toolchain.
        command = ["env", "-json", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED"]
        platform: dict[str, str] = json.loads(self.run(command, Path("/")))
        return platform

    def run(self, arguments: list[str], folder: Path | None = None, on_line: LineHandler | None = None) -> str:
        """Runs a Go command and returns its output.

        Args:
            arguments: arguments of the command, without ``go``.
            folder: working directory; this process's own by default.
            on_line: called for each line of standard error.

        Raises:
            GoError: the command failed.
            GoStopped: the command was stopped or not started.
        """
        lines: list[str] = []
        environment = self.environment | ({} if arguments[0] == "build" else _DOWNLOADS_AT_ONCE)
        # Standard output goes to a file: with two pipes, the one that is not being read could fill up and block.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            with subprocess.Popen(
                [self.executable, *arguments],
                cwd=folder,
                env=environment,
                stdout=output,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            ) as process:
                self._running.add(process)
                try:
                    if self.stopped:
                        raise GoStopped
                    for line in process.stderr or ():
                        lines.append(line.rstrip())
                        if on_line:
                            on_line(lines[-1])
                except BaseException:
                    process.terminate()
                    raise
                finally:
                    self._running.discard(process)
            if process.returncode != 0 and self.stopped:
                raise GoStopped
            if process.returncode != 0:
                raise GoError(arguments, lines)
            output.seek(0)
            return output.read()

    def pins(self, go_mod: Path) -> Mapping[str, Pin]:
        """The modules in a go.mod, by path."""
        return _pins(self, go_mod, go_mod.read_bytes())

    def download(self, folder: Path, modules: list[str]) -> list[dict[str, Any]]:
        """Downloads modules of a go.mod to the module cache and verifies them with go.sum.

        Returns:
            The output of ``go mod download -json`` for each: ``Path``, ``Version``, ``Dir``, ``Sum`` and more.

        Raises:
            GoError: one of them cannot be downloaded, or does not match go.sum.
        """
        if not modules:
            return []  # Without names the command would download everything.
        return parse_json_stream(self.run(["mod", "download", "-json", *modules], folder))


@cache
def _pins(go: Go, go_mod: Path, _content: bytes) -> Mapping[str, Pin]:
    """The pins in a file with this content, cached since one `make up` needs each file many times."""
    content = json.loads(go.run(["mod", "edit", "-json", str(go_mod)]))
    pins = {entry["Path"]: Pin(entry["Path"], entry["Version"]) for entry in content["Require"] or []}
    for entry in content["Replace"] or []:
        pins[entry["Old"]["Path"]] = Pin(entry["New"]["Path"], entry["New"].get("Version", ""), True)
    return pins


def parse_json_stream(text: str) -> list[dict[str, Any]]:
    """The objects that Go commands print one after the other, without a list."""
    decoder, objects, position = json.JSONDecoder(), [], 0
    while position < len(text.rstrip()):
        value, position = decoder.raw_decode(text, position)
        objects.append(value)
        position += len(text[position:]) - len(text[position:].lstrip())
    return objects
