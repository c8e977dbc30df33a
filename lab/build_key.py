"""What a tool is made of, as one digest: the tool is built again when, and only when, this changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.go_command import Go, LineHandler, parse_json_stream
from lab.tools_table import Tool

_KEY_LENGTH = 32
"""Hexadecimal digits of a digest that are used, as a folder name for a person to compare."""

_PACKAGE_FIELDS = "ImportPath,Dir,Module,DefaultGODEBUG"
"""Not Stale, which would say what is compiled already: `go list` then looks at every source file for it."""

COMPILED_ALIKE = ("-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false")
"""Flags that all tools share, and with them what they are compiled of. Debug information is not made, since the
linker would leave it out: an eighth of the time."""


def linker_flags(tool: Tool) -> str:
    """The value of ``-ldflags``: no symbol table and debug information, and the tool's own."""
    return f"-s -w {tool.ldflags}".strip()


@dataclass(frozen=True)
class Package:
    """A package of a program, as ``go list`` sees it.

    Attributes:
        import_path: its import path.
        folder: where its source is.
        module: what go list says of its module; empty for the standard library.
        godebug: default GODEBUG settings, for the main package.
    """

    import_path: str
    folder: Path
    module: Mapping[str, Any]
    godebug: str

    @property
    def is_staged(self) -> bool:
        """Whether its source is in the staged folder, as that of the tool's own module and of a trimmed one is.

        No go.sum says what it is made of then, and it has no version of its own.
        """
        return bool(self.module) and "Version" not in self.module.get("Replace", self.module)


def list_packages(go: Go, tool: Tool, source: Path, on_line: LineHandler | None = None) -> list[Package]:
    """All packages that a tool contains, each after those that it imports, downloading their modules where needed.

    Args:
        source: the staged module folder.

    Raises:
        GoError: a module could not be downloaded, or is not what go.sum says.
    """
    arguments = ["list", "-deps", f"-json={_PACKAGE_FIELDS}", tool.package]
    return [
        Package(
            import_path=entry["ImportPath"],
            folder=Path(entry["Dir"]),
            module=entry.get("Module", {}),
            godebug=entry.get("DefaultGODEBUG", ""),
        )
        for entry in parse_json_stream(go.run(arguments, source, on_line))
    ]


def build_key(go: Go, tool: Tool, source: Path, packages: Iterable[Package]) -> str:
    """The digest of everything that goes into a tool.

    Of go.mod only the modules count whose packages the tool contains or whose files it reads, so that another
    pin that moves in the same go.mod leaves the tool alone. Of what is staged the content counts: of a trimmed
    module, that is the pinned module's, which go.sum vouches for, with the lab's own files.
    """
    modules: set[str] = set()
    staged: dict[str, str] = {}
    language: set[str] = set()
    for package in packages:
        language.add(package.godebug)
        if package.is_staged:
            staged[package.import_path] = digest_folder(package.folder)
            language.add(package.module.get("GoVersion", ""))
        elif package.module:
            modules.add(_module_identity(package.module))
    read = go.download(source, tool.modules_read)
    return _digest(
        {
            "platform": go.platform,
            "flags": [*COMPILED_ALIKE, linker_flags(tool)],
            "modules": sorted(modules),
            "own": staged,
            "language": sorted(language),
            "read": sorted(f"{module['Path']} {module['Version']} {module['Sum']}" for module in read),
            "copies": [entry.model_dump() for entry in tool.copies],
            "assets": [entry.model_dump() for entry in tool.assets],
            "document": tool.document.model_dump() if tool.document else None,
        }
    )


def input_digest(go: Go, tool: Tool, folders: Iterable[Path]) -> str:
    """A digest of all that :func:`build_key` could depend on, made without asking ``go list``.

    It is a shortcut: the same inputs have the same key, while other inputs may still have it too.

    Args:
        folders: the module folder, and the one that the package's source is taken from.
    """
    inputs = {
        "tool": tool.model_dump(),
        "platform": go.platform,
        "folders": [digest_folder(f) for f in folders],
    }
    return _digest(inputs)


def digest_folder(folder: Path) -> str:
    """A digest of the names and contents of all files below a folder."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _module_identity(module: Mapping[str, Any]) -> str:
    """A module's path and version, and the version and go.sum hash of what really stands in for it."""
    effective = module.get("Replace", module)
    return " ".join([module["Path"], module["Version"], effective["Path"], effective["Version"], effective["Sum"]])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_KEY_LENGTH]
