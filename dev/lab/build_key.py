"""A digest of everything that a tool is built from: the tool is rebuilt if, and only if, the digest changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dev.lab.go_command import Go, LineHandler, parse_json_stream
from dev.lab.tools_table import Tool
from flux_tenancy.review.admission.program import GENERATED_CLIENTS, compiler_flags

_KEY_LENGTH = 32
"""Hexadecimal digits of a digest in the name of a folder."""

_PACKAGE_FIELDS = "ImportPath,Dir,Module,DefaultGODEBUG"
"""Not Stale, which tells what is already compiled: `go list` reads every source file for it."""

_LINKED_ONLY = (
    "cloud.google.com/go",
    "github.com/Azure",
    "github.com/AzureAD",
    "github.com/aliyun",
    "github.com/aws",
    "github.com/hashicorp/vault",
    "github.com/olivere/elastic",
    "github.com/redis",
    "github.com/sigstore",
    "github.com/integrations/terraform-provider-github",
    "github.com/kyverno/kyverno/pkg/client",
    "github.com/pulumi/pulumi-kubernetes/sdk",
    "gitlab.com/gitlab-org",
    "google.golang.org/api",
    *GENERATED_CLIENTS,
)
"""Roots of packages that hardly ever run: those for services that the lab does not have, and generated clients."""

COMPILED_ALIKE = compiler_flags(_LINKED_ONLY)
"""Flags that all tools share, so that they can share compiled packages, also with `flux-tenancy review
build-admission`."""


def linker_flags(tool: Tool) -> str:
    """The value of ``-ldflags``: no symbol table and debug information, and the tool's own."""
    return f"-s -w {tool.ldflags}".strip()


@dataclass(frozen=True)
class Package:
    """A package of a program, as reported by ``go list``.

    Attributes:
        import_path: its import path.
        folder: the folder with its source.
        module: its module, as reported by ``go list``; empty for the standard library.
        godebug: default GODEBUG settings, for the main package.
    """

    import_path: str
    folder: Path
    module: Mapping[str, Any]
    godebug: str

    @property
    def is_staged(self) -> bool:
        """Whether its source is in the staged folder: that of the tool's own module or of a trimmed one.

        Such a package has no version and no hash in go.sum.
        """
        return bool(self.module) and "Version" not in self.module.get("Replace", self.module)


def list_packages(go: Go, tool: Tool, source: Path, on_line: LineHandler | None = None) -> list[Package]:
    """All packages that a tool contains, each after those that it imports, downloading their modules where needed.

    Args:
        source: the staged module folder.

    Raises:
        GoError: a module cannot be downloaded, or does not match go.sum.
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

    Only modules whose packages the tool contains or whose files it reads are included, so that the tool is not rebuilt
    for other changes of the same go.mod. Staged packages are included by content; in a trimmed module that is the
    content of the pinned module, verified with go.sum, and of the lab's own files.
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
    """A digest of everything that :func:`build_key` may depend on, computed without ``go list``.

    A shortcut: the same inputs have the same key; different inputs may have the same key as well.

    Args:
        folders: the module folder, and the folder with the package's source if it is another one.
    """
    inputs = {
        "tool": tool.model_dump(),
        "platform": go.platform,
        "flags": COMPILED_ALIKE,
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
    """A module's path and version, and the path, version and hash of its replacement, if it has one."""
    effective = module.get("Replace", module)
    return " ".join([module["Path"], module["Version"], effective["Path"], effective["Version"], effective["Sum"]])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_KEY_LENGTH]
