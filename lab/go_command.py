"""The Go command, in an environment that depends on nothing but the lab."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from threading import Event
from typing import Any

from lab.errors import LabError

_GO_FLAGS = "-mod=readonly"
"""Nothing is resolved at build time: what go.mod and go.sum do not name is an error."""

_INSTALL_GO = "install a Go toolchain that is new enough (https://go.dev/dl)"

LineHandler = Callable[[str], None]
"""Receives one line of a command's standard error, without its end."""


class GoError(Exception):
    """A Go command failed.

    Attributes:
        output: the lines that it wrote to standard error.
    """

    def __init__(self, arguments: list[str], output: list[str]) -> None:
        super().__init__(f"go {' '.join(arguments)} failed")
        self.output = output


class GoStopped(Exception):
    """A Go command was ended, or not begun, since :meth:`Go.stop` was called."""


@dataclass(frozen=True)
class Pin:
    """What a go.mod says of one module: the effective path and version, after its replace directives.

    Attributes:
        replaced: whether there is such a directive.
    """

    path: str
    version: str
    replaced: bool = False


@dataclass(frozen=True)
class Go:
    """The Go command of this machine, with the lab's own build cache.

    Attributes:
        build_cache: folder that ``go build`` keeps compiled packages in (GOCACHE).
        work: folder for what it needs while it runs (GOTMPDIR), so that all of that is on one disk.
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
        """Ends the commands that run in any thread, and lets none begin any more."""
        self._stopped.set()
        for process in list(self._running):
            process.terminate()

    @cached_property
    def executable(self) -> str:
        """Path of the Go command.

        Raises:
            LabError: there is none on the user's path.
        """
        if found := shutil.which("go"):
            return found
        raise LabError("Go is not installed: there is no `go` on the PATH", f"{_INSTALL_GO} and try again")

    @cached_property
    def environment(self) -> Mapping[str, str]:
        """The user's environment without the settings that would change what is built.

        Proxy, checksum database and module cache stay the user's own. A variable has to be set, not just left
        out, to win over what ``go env -w`` has written.
        """
        own = {
            "GOCACHE": str(self.build_cache),
            "GOTMPDIR": str(self.work),
            "GOFLAGS": _GO_FLAGS,
            # Compiling allocates fast and ends soon; collecting less often saves a fifth of the time.
            "GOGC": "800",
            # No program needs C, and the machine need not have a compiler for it.
            "CGO_ENABLED": "0",
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
        }
        return os.environ | own

    @cached_property
    def platform(self) -> Mapping[str, str]:
        """What the toolchain is and compiles for: the go env variables that a build depends on."""
        platform: dict[str, str] = json.loads(self.run(["env", "-json", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED"]))
        return platform

    def require_version(self, go_mod: Path, wanted: str) -> None:
        """Checks that Go is at least what a go.mod asks for.

        Raises:
            LabError: it is older.
        """
        if _numbers(self.platform["GOVERSION"]) < _numbers(wanted):
            raise LabError(
                f"{go_mod} needs Go {wanted} or later, and {self.executable} is {self.platform['GOVERSION']}",
                f"{_INSTALL_GO} and try again",
            )

    def run(self, arguments: list[str], folder: Path | None = None, on_line: LineHandler | None = None) -> str:
        """Runs a Go command to its end and returns what it prints.

        Args:
            arguments: the command's, without ``go``.
            folder: working directory; this process's own by default.
            on_line: called for each line of standard error as it comes.

        Raises:
            GoError: the command failed.
            GoStopped: it was not to run, or not to its end.
        """
        lines: list[str] = []
        # Standard output goes to a file: of two pipes the one not being read could fill, and both would wait.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            with subprocess.Popen(
                [self.executable, *arguments],
                cwd=folder,
                env=dict(self.environment),
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

    def pins(self, go_mod: Path) -> tuple[Mapping[str, Pin], str]:
        """The modules that a go.mod names, by path, and the Go version that it asks for."""
        return _pins(self, go_mod, go_mod.read_bytes())

    def download(self, folder: Path, modules: list[str]) -> list[dict[str, Any]]:
        """Makes modules of a go.mod present in the module cache, verified against go.sum.

        Returns:
            What ``go mod download -json`` says of each: ``Path``, ``Version``, ``Dir``, ``Sum`` and more.

        Raises:
            GoError: one of them could not be downloaded, or is not what go.sum says.
        """
        if not modules:
            return []  # Without names the command would download everything.
        return parse_json_stream(self.run(["mod", "download", "-json", *modules], folder))


@cache
def _pins(go: Go, go_mod: Path, _content: bytes) -> tuple[Mapping[str, Pin], str]:
    """What a file with this content says; one `make up` asks for each file many times."""
    content = json.loads(go.run(["mod", "edit", "-json", str(go_mod)]))
    pins = {entry["Path"]: Pin(entry["Path"], entry["Version"]) for entry in content["Require"] or []}
    for entry in content["Replace"] or []:
        pins[entry["Old"]["Path"]] = Pin(entry["New"]["Path"], entry["New"].get("Version", ""), True)
    return pins, content["Go"]


def parse_json_stream(text: str) -> list[dict[str, Any]]:
    """The objects that Go commands print one after the other, without a list around them."""
    decoder, objects, position = json.JSONDecoder(), [], 0
    while position < len(text.rstrip()):
        value, position = decoder.raw_decode(text, position)
        objects.append(value)
        position += len(text[position:]) - len(text[position:].lstrip())
    return objects


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a Go version, to compare by: "go1.26.8" is (1, 26, 8)."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
