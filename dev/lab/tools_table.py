"""The table of the lab's tools: dev/lab/tools.yaml, with the versions that the tools' go.mod files pin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from dev.lab.go_command import Go, Pin

Purpose = Literal["up", "test", "test-all"]
"""What tools are needed for: ``up`` is the staging stack, ``test`` the tests for every change, ``test-all`` all tests.
Each purpose also needs the tools of those before it."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModuleFiles(_Entry):
    """Files or folders of a Go module that go.mod pins."""

    module: str
    """Path of the module."""
    paths: list[str]
    """Files or folders, relative to the module's root."""


class Trim(_Entry):
    """A Go module of which a program contains less, since the lab leaves out what the program links and never runs.

    The build compiles a copy without some of the module's files, in which those of the lab take their place. It fails
    if the lab's files do not fit the version of the module.
    """

    module: str
    """Path of the module."""
    folder: str | None = None
    """Folder within the module folder of the tool, with the lab's files at their paths in the module. Its name begins
    with ``_``, so that Go ignores it as a package of the tool."""
    omit: list[str]
    """Patterns of the files that are left out, relative to the module's root; ``*`` stands for folders as well. Each
    matches a file."""


class Edit(_Entry):
    """A line of a Go module that the lab replaces, since no argument of the program says what the lab needs.

    The build compiles a copy of the module. It fails if the file does not contain the line exactly once.
    """

    module: str
    """Path of the module."""
    file: str
    """Path of the file, relative to the module's root."""
    line: str
    """The line, as it is in the file."""
    by: str
    """The line in its place."""


class Document(_Entry):
    """A file that the tool writes when it is built; the result is then the file, not the program."""

    file: str
    """Name of the file, written by ``<program> --modules FILE --output FILE <arguments>``."""
    modules: list[str]
    """Paths of the Go modules that the program reads; it gets the output of ``go mod download -json`` for them."""
    arguments: list[str] = []


class Room(_Entry):
    """Disk space in GB that a tool needs in addition to the tools before it in the table."""

    compiled: Annotated[float, Field(ge=0)]
    """Compiled packages, which are deleted after the build."""
    kept: Annotated[float, Field(ge=0)]
    """Downloaded modules in the user's module cache, and the tool itself."""


class Tool(_Entry):
    """One program of the lab, or one file that a program composes.

    ``name`` and ``ldflags`` may hold ``{version}`` (e.g. v1.36.3), ``{number}`` (1.36.3), ``{major}`` and
    ``{minor}`` of the tool's version. In tools read with :func:`load_table` they are filled in.
    """

    name: str
    """The tool's name in the lab."""
    module: str
    """Folder with the go.mod and go.sum that pin everything, relative to dev/lab/tools."""
    package: str
    """Import path of the main package, or ``./folder`` within the module folder."""
    package_from: str | None = None
    """Module folder with the package's source, if two modules share it."""
    version_of: str | None = None
    """Path of the module whose version is the tool's."""
    version: str = ""
    """The tool's version; from go.mod, unless it is not a release of a Go module."""
    purpose: Purpose = "up"
    """The first purpose that needs the tool."""
    ldflags: str = ""
    """Linker flags in addition to those of all tools."""
    copies: list[ModuleFiles] = []
    """Files put into the package's folder before compiling, e.g. to be embedded."""
    trims: list[Trim] = []
    """Modules of which the program contains only some packages."""
    edits: list[Edit] = []
    """Lines of modules that are replaced."""
    assets: list[ModuleFiles] = []
    """Files and folders in the folder of the finished program, which reads them at run time."""
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
        """Paths of the modules whose files are read, in addition to compiled packages."""
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


ADMISSION = "../../../flux_tenancy/admission"
"""The one module that is the product's, since users build it as well."""


def modules_folder(project: Path) -> Path:
    """The folder with the pinned Go modules."""
    return project / "dev" / "lab" / "tools"


def load_table(project: Path, go: Go) -> dict[str, Tool]:
    """The tools of a checkout by name, in the order in which they are best built.

    Raises:
        LabError: Go is missing.
    """
    table = _TABLE.validate_python(yaml.safe_load((project / "dev" / "lab" / "tools.yaml").read_text()))
    modules = {tool.module for tool in table}
    pins = {module: go.pins(modules_folder(project) / module / "go.mod") for module in modules}
    tools = [tool.with_version(pins[tool.module]) for tool in table]
    return {tool.name: tool for tool in tools}
