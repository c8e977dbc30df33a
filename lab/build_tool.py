"""Builds one tool: stage its source, look at what it contains, compile, publish."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from lab.build_key import COMPILED_ALIKE, Package, build_key, linker_flags, list_packages
from lab.build_source import put_module_files, stage
from lab.errors import LabError
from lab.go_command import Go, GoError
from lab.progress import BuildProgress
from lab.tool_cache import ToolCache
from lab.tools_table import Document, Tool

_SHOWN_LINES = 15
"""Lines of a failed build's output that the error shows; the log has all."""


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

    def run(self) -> str:
        """Builds and publishes the tool, unless the cache has it under the same key already.

        Returns:
            The tool's key.

        Raises:
            LabError: something could not be downloaded or compiled; it names the file with the full output.
        """
        try:
            return self._run()
        except GoError as error:
            raise self._failure(error.output) from error
        finally:
            self.cache.log(self.tool).write_text("\n".join(self._log))

    def _run(self) -> str:
        self.progress.step("reading modules")
        source = self.cache.source(self.tool)
        stage(self.go, self.tool, self.modules, source)
        packages = list_packages(self.go, self.tool, source, self._on_download)
        key = build_key(self.go, self.tool, source, packages)
        if not self.cache.result(self.tool, key).is_file():
            with self.cache.publishing(self.tool, key) as folder:
                self._compile(source, packages, folder / self.tool.program)
                put_module_files(self.go, source, self.tool.assets, folder)
                if self.tool.document:
                    self._make_document(self.tool.document, source, folder)
        return key

    def _compile(self, source: Path, packages: list[Package], program: Path) -> None:
        waiting = {package.import_path for package in packages if not package.compiled}
        total = len(packages)
        self._show_compiled(total - len(waiting), total)

        def on_line(line: str) -> None:
            self._log.append(line)
            # With -v each package is named when its compilation begins.
            if line in waiting:
                waiting.remove(line)
                self._show_compiled(total - len(waiting), total)

        arguments = ["build", "-v", *COMPILED_ALIKE, "-ldflags", linker_flags(self.tool)]
        self.go.run([*arguments, "-o", str(program), self.tool.package], source, on_line)

    def _make_document(self, document: Document, source: Path, folder: Path) -> None:
        """Runs the program for its file, and puts the file's sha256 beside it, as ``sha256sum`` prints it."""
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
        self.progress.step(f"downloading {line.rpartition('downloading ')[2]}")

    def _show_compiled(self, done: int, total: int) -> None:
        self.progress.step("linking" if done == total else "compiling", done, total)

    def _failure(self, output: list[str]) -> LabError:
        log = self.cache.log(self.tool)
        lines = "\n".join(f"    {line}" for line in output[-_SHOWN_LINES:])
        if any("no space left on device" in line for line in output):
            return LabError(
                f"the disk ran full while {self.tool.name} was built in {self.cache.root}",
                "make room and run the same again: it goes on where it stopped",
            )
        return LabError(f"building {self.tool.name} failed:\n{lines}", f"the full output is in {log}")
