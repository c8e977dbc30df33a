"""Builds one tool: stage its source, list its packages, then compile, link and publish it."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dev.lab.build_key import COMPILED_ALIKE, build_key, input_digest, linker_flags, list_packages
from dev.lab.build_source import put_module_files, source_folders, stage
from dev.lab.errors import LabError
from dev.lab.go_command import Go, GoError
from dev.lab.progress import BuildProgress
from dev.lab.tool_cache import ToolCache
from dev.lab.tools_table import Document, Tool

_SHOWN_LINES = 15
"""Lines of a failed build's output that the error shows; the log has all."""


@dataclass(frozen=True)
class Prepared:
    """What is known about a tool before it is compiled.

    Attributes:
        digest: digest of the inputs, under which the cache remembers the key.
        key: digest of everything that the tool is built from.
        packages: import paths of all packages that it contains, each after those that it imports.
    """

    digest: str
    key: str
    packages: list[str]


@dataclass
class ToolBuild:
    """The build of one tool.

    Attributes:
        modules: the folder with the pinned Go modules.
    """

    go: Go
    cache: ToolCache
    modules: Path
    tool: Tool
    progress: BuildProgress
    _log: list[str] = field(default_factory=list)

    def prepare(self) -> Prepared:
        """Stages the tool's source and downloads its modules.

        Raises:
            LabError: a download failed; the remedy names the file with the full output.
        """
        with self._logged():
            # Of the sources as they are now, even if they change later.
            digest = input_digest(self.go, self.tool, source_folders(self.modules, self.tool))
            source = self.cache.source(self.tool)
            stage(self.go, self.tool, self.modules, source)
            packages = list_packages(self.go, self.tool, source, self._on_download)
            key = build_key(self.go, self.tool, source, packages)
            return Prepared(digest, key, [package.import_path for package in packages])

    def run(self, prepared: Prepared, on_linking: Callable[[], None]) -> Path:
        """Builds and publishes the tool, unless the cache already has it under the same key.

        Args:
            on_linking: called when all packages are compiled, if this can be seen, and only linking is left.

        Returns:
            The tool's file.

        Raises:
            LabError: a download or the compiler failed; the remedy names the file with the full output.
        """
        result = self.cache.result(self.tool, prepared.key)
        with self._logged():
            if not result.is_file():
                source = self.cache.source(self.tool)
                with self.cache.publishing(self.tool, prepared.key) as folder:
                    self._compile(source, prepared.packages, folder / self.tool.program, on_linking)
                    put_module_files(self.go, source, self.tool.assets, folder)
                    if self.tool.document:
                        self._make_document(self.tool.document, source, folder)
        self.cache.remember_key(prepared.digest, prepared.key)
        return result

    def _compile(self, source: Path, packages: list[str], program: Path, on_linking: Callable[[], None]) -> None:
        # With -v Go prints each package when it starts to compile it, but none that is already compiled. To know those
        # in advance, it would have to read every source file, so the total is an upper limit.
        waiting, total = set(packages), len(packages)
        self.progress.step(self.tool.name, "compiling")

        def on_line(line: str) -> None:
            self._log.append(line)
            waiting.discard(line)
            if line == packages[-1]:
                self.progress.step(self.tool.name, "linking")
                on_linking()
            else:
                self.progress.step(self.tool.name, "compiling", total - len(waiting), total)

        arguments = ["build", "-v", *COMPILED_ALIKE, "-ldflags", linker_flags(self.tool)]
        self.go.run([*arguments, "-o", str(program), self.tool.package], source, on_line)

    def _make_document(self, document: Document, source: Path, folder: Path) -> None:
        """Runs the program to write its file, and writes the sha256 of that in the format of ``sha256sum``."""
        modules = source / "modules.json"
        modules.write_text("".join(json.dumps(module) for module in self.go.download(source, document.modules)))
        file = folder / document.file
        command: list[str | Path] = [
            folder / self.tool.program,
            "--modules",
            modules,
            "--output",
            file,
            *document.arguments,
        ]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            raise self._failure(result.stderr.splitlines())
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        file.with_name(f"{file.name}.sha256").write_text(f"{digest}  {file.name}\n")

    def _on_download(self, line: str) -> None:
        self._log.append(line)
        self.progress.step(self.tool.name, f"downloading {line.rpartition('downloading ')[2]}")

    @contextmanager
    def _logged(self) -> Iterator[None]:
        try:
            yield
        except GoError as error:
            raise self._failure(error.output) from error
        finally:
            self.cache.log(self.tool).write_text("\n".join(self._log))

    def _failure(self, output: list[str]) -> LabError:
        log = self.cache.log(self.tool)
        lines = "\n".join(f"    {line}" for line in output[-_SHOWN_LINES:])
        if any("no space left on device" in line for line in output):
            return LabError(
                f"the disk became full while {self.tool.name} was being built in {self.cache.root}",
                "free some space and run the same command again, which continues where it stopped",
            )
        return LabError(f"building {self.tool.name} failed:\n{lines}", f"the full output is in {log}")
