"""Files of the lab's state: atomic writes, a lock, and errors that name the path."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from dev.lab.errors import LabError

SECRET = 0o600
PUBLIC = 0o644
PROGRAM = 0o755

_ROOM_NEEDED = 512 * 1024 * 1024
"""Bytes: more than etcd's first write-ahead log segments, Gitea's database and the logs need."""


@contextlib.contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Turn an error of the operating system about ``path`` into one with a remedy."""
    try:
        yield
    except OSError as error:
        raise LabError(
            f"cannot change {error.filename or path}: {error.strerror}",
            "make its folder writable and free some space, or set LAB_STATE to another folder",
        ) from error


def make_folder(path: Path) -> Path:
    """Create a folder of the state, and those that it is in, which only the user can enter.

    An existing folder is not changed.

    Raises:
        LabError: the folder cannot be created.
    """
    with _explaining(path):
        # `parents=True` would create the folders above with the default mode.
        for each in reversed([path, *path.parents]):
            if not each.exists():
                each.mkdir(mode=0o700, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def write_file(path: Path, text: str, mode: int = PUBLIC) -> None:
    """Replace a file atomically, so that a killed process leaves either the old file or the new one.

    Raises:
        LabError: the file cannot be written.
    """
    make_folder(path.parent)
    with _explaining(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        partial = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            partial.chmod(mode)
            partial.replace(path)
        except BaseException:
            partial.unlink()
            raise


def delete_folder(path: Path) -> None:
    """Delete a folder with its content, if it exists.

    Raises:
        LabError: something in it cannot be deleted.
    """
    with _explaining(path):
        if path.exists():
            shutil.rmtree(path)


def check_room(folder: Path) -> None:
    """Check the free space of the disk.

    Raises:
        LabError: less than half a GiB is free on the disk of ``folder``.
    """
    free = shutil.disk_usage(make_folder(folder)).free
    if free < _ROOM_NEEDED:
        raise LabError(
            f"only {free // 2**20} MiB are free in {folder}; the lab needs {_ROOM_NEEDED // 2**20} MiB",
            "free some space, or set LAB_STATE to a folder on another disk",
        )


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``, waiting for its holder; the kernel releases it when the holder dies.

    Raises:
        LabError: the lock file cannot be written.
    """
    make_folder(path.parent)
    with _explaining(path):
        held = FileLock(path, mode=SECRET).acquire()
    with held:
        yield
