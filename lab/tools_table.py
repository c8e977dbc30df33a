"""The table of the lab's tools: lab/tools.yaml, with the versions that the tools' go.mod files pin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from lab.go_command import Go, Pin

Purpose = Literal["up", "test", "test-all"]
"""What tools are needed for: ``up`` is the staging stack alone, ``test`` the tests of every day, ``test-all`` those
that are run now and then, too. Each needs the tools of those before it as well."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModuleFiles(_Entry):
    """Files or folders out of a Go module that go.mod pins."""

    module: str
    """Path of the module."""
    paths: list[str]
    """Files or folders, relative to the module's root."""


class Trim(_Entry):
    """A Go module that a program is compiled with in part, because of a file of the lab's own in place of one of it.

    The build compiles a copy: of the pinned module the packages that are named here, with the lab's files over its
    own. Where those files are wrong for another version of the module, or a package is missing, compiling fails.
    """

    module: str
    """Path of the module."""
    folder: str
    """Folder within the module folder of the tool, with the lab's files at the paths that they have in the module.
    Its name begins with ``_``, so that Go does not take it for packages of the tool's own."""
    packages: list[str]
    """Folders of the packages that are still needed, relative to the module's root."""


class Document(_Entry):
    """A file that the tool makes when it is built; the file, not the program, is then the result."""

    file: str
    """Name of the file, made by ``<program> --modules FILE --output FILE <arguments>``."""
    modules: list[str]
    """Paths of the Go modules that the program reads, described to it as by ``go mod download -json``."""
    arguments: list[str] = []


class Room(_Entry):
    """Disk space that building a tool adds to that of the tools before it in the table, in GB."""

    compiled: Annotated[float, Field(ge=0)]
    """Compiled packages, which are deleted in the end."""
    kept: Annotated[float, Field(ge=0)]
    """Downloaded modules, in the user's module cache, and the tool itself."""


class Tool(_Entry):
    """One program of the lab, or one file that a program composes.

    ``name`` and ``ldflags`` may hold ``{version}`` (e.g. v1.36.3), ``{number}`` (1.36.3), ``{major}`` and
    ``{minor}`` of the tool's version. In tools read with :func:`load_table` they are filled in.
    """

    name: str
    """What the rest of the lab calls the tool by."""
    module: str
    """Folder below lab/tools with the go.mod and go.sum that pin everything."""
    package: str
    """Import path of the main package, or ``./folder`` within the module folder."""
    package_from: str | None = None
    """Module folder that the package's own source is taken from, where two modules share it."""
    version_of: str | None = None
    """Path of the module whose version is the tool's."""
    version: str = ""
    """The tool's version; from go.mod, but for a release that is no Go module's."""
    purpose: Purpose = "up"
    """The first purpose that needs the tool."""
    ldflags: str = ""
    """Linker flags besides those that all tools get."""
    copies: list[ModuleFiles] = []
    """Files put into the package's folder before compiling, e.g. to be embedded."""
    trims: list[Trim] = []
    """Modules of which the program does not get all that they have."""
    assets: list[ModuleFiles] = []
    """Files and folders put beside the finished program, which finds them there at run time."""
    document: Document | None = None
    room: Room
    """Disk space that building needs."""

    @property
    def file(self) -> str:
        """Name of the file that is the tool's result: the program or the document."""
        return self.document.file if self.document else self.program

    @property
    def program(self) -> str:
        """File name of the compiled program: the tool's name without a version."""
        return self.name.partition("@")[0]

    @property
    def modules_read(self) -> list[str]:
        """Paths of the modules of which files are read, not only packages compiled."""
        files = [entry.module for entry in [*self.copies, *self.assets]]
        return files + (self.document.modules if self.document else [])

    def with_version(self, pins: Mapping[str, Pin]) -> Tool:
        """This tool with name, version and linker flags for what a go.mod pins."""
        version = pins[self.version_of].version if self.version_of else self.version
        if not version:
            return self
        major, minor = re.findall(r"\d+", version)[:2]
        fields = {"version": version, "number": version.removeprefix("v"), "major": major, "minor": minor}
        return self.model_copy(
            update={
                "name": self.name.format(**fields),
                "ldflags": self.ldflags.format(**fields),
                "version": version,
            }
        )


_TABLE = TypeAdapter(list[Tool])


def modules_folder(project: Path) -> Path:
    """The folder with the pinned Go modules."""
    return project / "lab" / "tools"


def load_table(project: Path, go: Go) -> dict[str, Tool]:
    """The tools of a checkout by name, in the order in which they are best built.

    Raises:
        LabError: Go is missing, or older than a module asks for.
    """
    table = _TABLE.validate_python(yaml.safe_load((project / "lab" / "tools.yaml").read_text()))
    pins: dict[str, Mapping[str, Pin]] = {}
    for module in {tool.module for tool in table}:
        go_mod = modules_folder(project) / module / "go.mod"
        pins[module], go_version = go.pins(go_mod)
        go.require_version(go_mod, go_version)
    tools = [tool.with_version(pins[tool.module]) for tool in table]
    return {tool.name: tool for tool in tools}
