"""The program that the merge base requires, installed for its render, once for each set of requirements.

An upgrade changes the objects of every stack, and only the earlier program knows what they were.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.engine.code import REQUIREMENTS, read_by_pip
from flux_tenancy.project.cache import cache_folder

_REASON_CHARACTERS = 200
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--no-input")


class NotInstalledError(Exception):
    """What the merge base requires cannot be installed."""


def installed_python(project: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The Python of an environment with what a project requires; it is installed if it is not in the cache.

    Args:
        project: folder of the project, as it was at the merge base.
        environ: the environment, with pip's own settings.

    Raises:
        NotInstalledError: pip fails, or there is no folder for caches.
    """
    cache = cache_folder(environ)
    if cache is None:
        raise NotInstalledError("there is no folder for caches")
    required = b"".join(file.read_bytes() for file in read_by_pip(project))
    digest = hashlib.sha256(required + sys.version.encode()).hexdigest()
    folder = cache / "programs" / digest[:16]
    python = folder / "bin" / "python"
    if python.is_file():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    # An environment cannot be moved, so an unfinished one has no mark.
    unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        _run([sys.executable, "-m", "venv", str(unfinished)], project, environ)
        _run([str(unfinished / "bin" / "python"), *_PIP, "-r", REQUIREMENTS], project, environ)
        # Whoever is first wins.
        folder.symlink_to(unfinished.name)
    except FileExistsError:
        shutil.rmtree(unfinished, ignore_errors=True)
    except (NotInstalledError, OSError):
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return python


def _run(command: list[str], folder: Path, environ: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NotInstalledError(str(error)) from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise NotInstalledError(printable(last.removeprefix("ERROR: "))[:_REASON_CHARACTERS])
