"""The source that a tool is compiled from: a copy of its module folder, with files of other modules."""

from __future__ import annotations

import fnmatch
import shutil
from collections.abc import Iterable
from pathlib import Path

from dev.lab.errors import LabError
from dev.lab.go_command import Go
from dev.lab.tools_table import Edit, ModuleFiles, Tool, Trim

_CHANGED = "_changed"
"""Folder of the modules that the lab changes; Go ignores it as a package of the tool."""


def source_folders(modules: Path, tool: Tool) -> list[Path]:
    """The folders of the checkout that a tool's own source and pins are in.

    Args:
        modules: the folder with the pinned Go modules.
    """
    folders = [modules / tool.module]
    if tool.package_from:
        folders.append(modules / tool.package_from / tool.package)
    return folders


def stage(go: Go, tool: Tool, modules: Path, target: Path) -> None:
    """Copies a tool's source out of the checkout, so that nothing is generated there.

    Args:
        modules: the folder with the pinned Go modules.
        target: the folder to create; an existing one is replaced.

    Raises:
        GoError: a module with files to copy cannot be downloaded, or does not match go.sum.
        LabError: a module does not contain a line to replace, or a file to omit.
    """
    if target.exists():
        shutil.rmtree(target)
    module, *packages = source_folders(modules, tool)
    copy_tree(module, target)
    for package in packages:
        copy_tree(package, target / tool.package)
    put_module_files(go, target, tool.copies, target / tool.package)
    for path in sorted({trim.module for trim in tool.trims} | {edit.module for edit in tool.edits}):
        _put_changed_module(go, target, path, tool)


def put_module_files(go: Go, source: Path, entries: Iterable[ModuleFiles], target: Path) -> None:
    """Copies files and folders of Go modules into a folder, under their own names.

    Args:
        source: a staged module folder, whose go.mod pins the modules.

    Raises:
        GoError: a module cannot be downloaded, or does not match go.sum.
    """
    for entry in entries:
        [module] = go.download(source, [entry.module])
        for path in entry.paths:
            copy_tree(Path(module["Dir"], path), target / Path(path).name)


def _put_changed_module(go: Go, source: Path, path: str, tool: Tool) -> None:
    """Replaces a module with a copy that has the lab's files and lines, in the staged go.mod.

    A copy is necessary since Go refuses an overlay for files of the module cache.
    """
    [module] = go.download(source, [path])
    changed = Path(_CHANGED, path)
    copy_tree(Path(module["Dir"]), source / changed)
    for trim in tool.trims:
        if trim.module == path:
            _omit(source / changed, trim, module["Version"])
            if trim.folder:
                copy_tree(source / trim.folder, source / changed)
    for edit in tool.edits:
        if edit.module == path:
            _replace_line(source / changed, edit, module["Version"])
    go.run(["mod", "edit", f"-replace={path}=./{changed}"], source)


def _omit(folder: Path, trim: Trim, version: str) -> None:
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    for pattern in trim.omit:
        omitted = fnmatch.filter(files, pattern)
        if not omitted:
            raise LabError(
                f"no file of {trim.module} {version} matches {pattern}",
                "correct the tool's trims in dev/lab/tools.yaml",
            )
        for name in omitted:
            files.pop(name).unlink()


def _replace_line(folder: Path, edit: Edit, version: str) -> None:
    file = folder / edit.file
    lines = file.read_text().split("\n")
    if lines.count(edit.line) != 1:
        raise LabError(
            f"{edit.file} of {edit.module} {version} does not contain this line exactly once: {edit.line.strip()}",
            "correct the tool's edits in dev/lab/tools.yaml",
        )
    file.write_text("\n".join(edit.by if line == edit.line else line for line in lines))


def copy_tree(source: Path, target: Path) -> None:
    """Copies a file or a folder as writable files: those of the module cache are read-only."""
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        return
    for file in source.rglob("*"):
        if file.is_file():
            copy_tree(file, target / file.relative_to(source))
