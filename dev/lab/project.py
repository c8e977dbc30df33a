"""The Pulumi project of a lab: the checkout itself, or a project folder with files for the lab's own ports.

Pulumi reads and writes ``Pulumi.<stack>.yaml`` in the folder in which it runs, and the committed files contain ports
and paths of the default lab. So every other lab has a project folder in its state: links to the program, and copies of
the stack and tenant files with its own ports. Changes in the checkout update the copies that the user has not changed.
The folder is a Git repository of its own, whose commits are the copies: `flux-tenancy review diff --base HEAD` there
shows what the user has changed since.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from dev.lab.errors import LabError
from dev.lab.files import delete_folder, locked, make_folder, write_file
from dev.lab.git import Git
from dev.lab.processes import LOOPBACK
from dev.lab.settings import DEFAULT_PORT_BASE, PORTS_OF_A_LAB, Settings

_STACK_FILE = re.compile(r"Pulumi\.(.+)\.yaml")
_TENANTS = "tenants"
_STATE_LINK = ".lab"
_RECORD = ".copies.json"
"""Digest of each copy as written by the lab, by its path in the project folder."""

_NOT_COPIED = f"*\n!/{_TENANTS}/\n!/{_TENANTS}/*.yaml\n!/Pulumi.*.yaml\n/Pulumi.yaml\n"
"""What the repository of a project folder ignores: everything that is a link, or the lab's."""
_GIT = Git("", "")

_ADDRESS = re.compile(rf"(?<![\d.])({re.escape(LOOPBACK)}\]?:)(\d+)(?!\d)")


def check_stack_files(settings: Settings, stacks: Iterable[str]) -> None:
    """Check that every stack has a stack file, before anything is built, started or written.

    Raises:
        LabError: a stack file is missing.
    """
    folders = dict.fromkeys([settings.project, settings.pulumi_project])
    known = sorted({name for folder in folders for name in _stacks(folder)})
    for stack in stacks:
        if stack not in known:
            raise LabError(
                f"there is no Pulumi.{stack}.yaml in {settings.project}; stacks: {', '.join(known) or 'none'}",
                f"use one of these stacks, or write Pulumi.{stack}.yaml first",
            )


def names_lab_files(settings: Settings) -> bool:
    """Whether a stack file of the project names a file of the lab's state."""
    return any(f"{_STATE_LINK}/" in file.read_text() for file in settings.project.glob("Pulumi.*.yaml"))


def provide_project(settings: Settings) -> Path:
    """Create or update the lab's Pulumi project, without the files that the user has changed.

    Returns:
        The folder in which Pulumi runs.

    Raises:
        LabError: the project folder cannot be written.
    """
    folder = settings.pulumi_project
    if not settings.is_default:
        with locked(settings.state / "lock"):
            _link_program(settings, folder)
            _copy_files(settings, folder)
    return folder


def delete_project(settings: Settings) -> Path | None:
    """Delete the project folder of a lab that has its own, unless the user has changed files in it.

    Returns:
        The folder, if it is kept for that reason.

    Raises:
        LabError: it cannot be deleted.
    """
    folder = settings.pulumi_project
    if settings.is_default or not folder.exists():
        return None
    written = _read_record(folder)
    if any(_digest((folder / name).read_text()) != written.get(name) for name in _file_names(folder)):
        return folder
    delete_folder(folder)
    return None


def _stacks(folder: Path) -> list[str]:
    names = (_STACK_FILE.fullmatch(path.name) for path in folder.glob("Pulumi.*.yaml"))
    return [name[1] for name in names if name]


def _file_names(folder: Path) -> list[str]:
    """The stack and tenant files of a project, by their path in it."""
    files = [*folder.glob("Pulumi.*.yaml"), *folder.glob(f"{_TENANTS}/*.yaml")]
    return sorted(str(path.relative_to(folder)) for path in files)


def _link_program(settings: Settings, folder: Path) -> None:
    """Link everything except stack and tenant files, since stack files may refer to any file of the checkout."""
    copied = {_TENANTS, *(name for name in _file_names(settings.project) if "/" not in name)}
    links = {
        path.name: path
        for path in settings.project.iterdir()
        if path.name not in copied and not path.name.startswith((".", "__pycache__"))
    }
    links |= {".venv": settings.project / ".venv", _STATE_LINK: settings.state}
    make_folder(folder)
    for path in folder.iterdir():
        if path.is_symlink() and _is_outdated(path, links, settings.project):
            path.unlink()
    for name, target in links.items():
        # A file in place of a link is the user's.
        if not os.path.lexists(folder / name):
            (folder / name).symlink_to(target)


def _is_outdated(link: Path, links: Mapping[str, Path], checkout: Path) -> bool:
    """Whether a link is the lab's and outdated; the user's own links are kept."""
    target = link.readlink()
    return target != links[link.name] if link.name in links else target.parent == checkout


def _copy_files(settings: Settings, folder: Path) -> None:
    written, copied = _read_record(folder), list[str]()
    for name in _file_names(settings.project):
        wanted = with_ports((settings.project / name).read_text(), settings.port_base)
        copy = folder / name
        current = copy.read_text() if copy.exists() else None
        last, new = written.get(name), _digest(wanted)
        if current is None or _digest(current) == last:
            if current != wanted:
                write_file(copy, wanted)
                copied.append(name)
        elif current != wanted and new != last:
            _warn_of_two_changes(settings.project / name, copy)
        written[name] = new
    write_file(folder / _RECORD, json.dumps(written, indent=2) + "\n")
    _commit(folder, copied)


def _commit(folder: Path, copied: Sequence[str]) -> None:
    if not (folder / ".git").exists():
        _GIT.run(folder, "init", "--quiet", "--initial-branch", "main")
        write_file(folder / ".git" / "info" / "exclude", _NOT_COPIED)
        copied = _file_names(folder)
    if copied:
        _GIT.run(folder, "add", "--", *copied)
        _GIT.run(
            folder,
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            "Copy files of the checkout",
            "--only",
            "--",
            *copied,
        )


def with_ports(text: str, port_base: int) -> str:
    """A file of the checkout for a lab with another port base, with the same offsets from it."""

    def moved(address: re.Match[str]) -> str:
        offset = int(address[2]) - DEFAULT_PORT_BASE
        return f"{address[1]}{port_base + offset}" if offset in range(PORTS_OF_A_LAB) else address[0]

    return _ADDRESS.sub(moved, text)


def _warn_of_two_changes(original: Path, copy: Path) -> None:
    print(
        f"warning: {original} has changed, but so has this lab's {copy}, which is kept as it is\n"
        "remedy: make the same change there, or delete it to get a new copy",
        file=sys.stderr,
    )


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _read_record(folder: Path) -> dict[str, str]:
    try:
        record = json.loads((folder / _RECORD).read_text())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
