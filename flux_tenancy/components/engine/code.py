"""The code that a run executes: this program, the project's own modules, and the installed packages.

Python looks into the project's folder before it looks anywhere else. Whatever is there by the name of another module,
in any form that Python loads, runs in its place, with the credentials of the update. So nothing may hide there, and all
code that Git tracks in the project is part of what reviewers approve.
"""

from __future__ import annotations

import hashlib
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.machinery import PathFinder, all_suffixes
from pathlib import Path

from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable

PACKAGE = Path(__file__).resolve().parents[2]
"""The folder of the product."""
DISTRIBUTION = "flux-tenancy"
REQUIREMENTS = "requirements.txt"
_TOOLS = frozenset({"pip", "setuptools", "wheel"})
"""Packages that install others, and which each machine has in a version of its own."""
_MAIN = "__main__"
_SUFFIXES = (*all_suffixes(), ".pth", ".egg", ".whl", ".zip")
"""Endings of the files that Python loads, and of archives from which it can."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PINNED = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(\[[^\]]*\])?\s*===?\s*(?P<version>[^\s;]+)")
_RECORDED = re.compile(r"^(?!\.\./).*\.py,sha256=[^,]*", re.MULTILINE)
_CACHE = "__pycache__"


def code_problems(project: Path, program: Path | None = None) -> list[Problem]:
    """Why other code would run than the one that is installed and reviewed.

    Args:
        project: folder of the Pulumi project.
        program: folder of its `__main__.py`, if it is another one.
    """
    problems = [
        Problem(
            str(file.relative_to(folder)),
            "",
            Message(
                "FT-CFG-633",
                f"would run instead of {printable(hidden)}, which Python finds after it",
                "remove it, or give it another name",
            ),
        )
        for folder in {project, program or project}
        for file, hidden in hiding(folder)
    ]
    for name, version, installed in _other_versions(project / REQUIREMENTS):
        problems.append(
            Problem(
                REQUIREMENTS,
                name,
                Message("FT-CFG-634", f"is {version}, but {installed} is installed", "run `pulumi install`"),
            )
        )
    return problems


def hiding(folder: Path) -> Iterator[tuple[Path, str]]:
    """What Python would find in a folder before the module of that name: the file, and where the other one is."""
    here = folder.resolve()
    elsewhere = [each for each in sys.path if each and Path(each).resolve() != here]
    yield from _hiding(folder, elsewhere, "")


def _hiding(folder: Path, elsewhere: Sequence[str], package: str) -> Iterator[tuple[Path, str]]:
    for found in pkgutil.iter_modules([str(folder)]):
        if found.name == _MAIN and not package:
            yield from ((file, f"{_MAIN}.py") for file in _forms(folder, _MAIN) if file.name != f"{_MAIN}.py")
            continue
        other = _origin(found.name, elsewhere, package)
        for file in _forms(folder, found.name) if other else ():
            if other and not _is_same(file, other):
                yield file, other
    for below in sorted(each for each in folder.iterdir() if each.name.isidentifier() and each.is_dir()):
        # The parts of a namespace package are searched in the same order.
        spec = PathFinder.find_spec(f"{package}{below.name}", elsewhere) if not _forms(below, "__init__") else None
        if spec is not None and spec.origin is None and spec.submodule_search_locations:
            yield from _hiding(below, list(spec.submodule_search_locations), f"{package}{below.name}.")


def _origin(name: str, elsewhere: Sequence[str], package: str) -> str | None:
    """Where Python would find a module without the project's folder; None if nowhere."""
    if not package and name in sys.stdlib_module_names:
        return f"Python's own module {name}"
    spec = PathFinder.find_spec(f"{package}{name}", elsewhere)
    if spec is not None and spec.origin is not None:
        return spec.origin
    # An editable installation is on no path.
    return str(PACKAGE / "__init__.py") if (package, name) == ("", PACKAGE.name) else None


def _forms(folder: Path, name: str) -> list[Path]:
    """The files of a module, and the folder of a package, in whichever form."""
    files = [folder / f"{name}{suffix}" for suffix in all_suffixes()]
    packages = (
        [folder / name] if any((folder / name / f"__init__{suffix}").exists() for suffix in all_suffixes()) else []
    )
    return [each for each in (*files, *packages) if each.exists()]


def _is_same(file: Path, origin: str) -> bool:
    return Path(origin).resolve() in (file.resolve(), (file / "__init__.py").resolve())


def _other_versions(requirements: Path) -> Iterator[tuple[str, str, str]]:
    """The pinned packages of which another version is installed: name, pinned and installed version."""
    for line in _text(requirements).splitlines():
        if (pinned := _PINNED.match(line)) is None or "*" in pinned["version"]:
            continue
        found = _distributions().get(_canonical(pinned["name"]))
        # The marker of one that is missing may be about another system.
        if found is not None and (installed := _version(found)) != pinned["version"]:
            yield pinned["name"], pinned["version"], installed


@cache
def _distributions() -> Mapping[str, Path]:
    """The metadata of each installed package, by its canonical name. `importlib.metadata` would read all of it.

    Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    """
    found: dict[str, Path] = {}
    for folder in map(Path, sys.path):
        for each in sorted(folder.glob("*.dist-info")) if folder.is_dir() else ():
            found.setdefault(_canonical(each.name.partition("-")[0]), each)
    return found


def _version(metadata: Path) -> str:
    return metadata.stem.partition("-")[2]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def installed_packages() -> Mapping[str, str]:
    """The packages that the program may import, each with its version and the recorded hashes of its modules.

    The hashes are those of modules in Python, which are the same on every system.

    Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    """
    found: dict[str, str] = {}
    waiting = [DISTRIBUTION, "pulumi", "pulumi-github", "pulumi-kubernetes"]
    while waiting:
        name = _canonical(waiting.pop())
        # Others are needed by an option, or on another system.
        if name in found or (metadata := _distributions().get(name)) is None:
            continue
        version, recorded = _version(metadata), sorted(_RECORDED.findall(_text(metadata / "RECORD")))
        # The product's own sources are in the digest, wherever they are.
        found[name] = version if name == DISTRIBUTION else f"{version} {_digest(recorded)}"
        required = re.findall(r"^Requires-Dist: (.*)", _text(metadata / "METADATA").partition("\n\n")[0], re.MULTILINE)
        waiting += [each[0] for line in required if "extra ==" not in line and (each := _NAME.match(line))]
    return {name: found[name] for name in sorted(found.keys() - _TOOLS)}


def code_files(project: Path) -> list[Path]:
    """The project's own files that Python can load, without those of the product.

    In Git, these are the tracked ones, and the modules and packages in the folder itself; elsewhere all of them.
    """
    is_checkout = PACKAGE.parent == project.resolve()
    listed = tracked(project)
    # A checkout of the product has folders for its maintainers, which no run imports.
    below = () if is_checkout else project.rglob("*") if listed is None else map(project.joinpath, listed)
    found = {file for each in below for file in ([each] if each.is_file() else _in_link(each))}
    for each in project.iterdir():
        if each.is_file():
            found.add(each)
        elif not is_checkout and _forms(each, "__init__"):
            found |= {file for file in each.rglob("*") if _CACHE not in file.parts}
    if listed is None:
        found = {each for each in found if _CACHE not in each.relative_to(project).parts}
    loadable = (each for each in found if each.name.endswith(_SUFFIXES) and each.is_file())
    return sorted(each for each in loadable if not each.resolve().is_relative_to(PACKAGE) or each.suffix == ".pyc")


def _in_link(path: Path) -> Iterator[Path]:
    """What a link to a folder leads to; Git has the link alone."""
    return path.rglob("*") if path.is_symlink() and path.is_dir() else iter(())


def tracked(folder: Path, *patterns: str) -> list[str] | None:
    """The files that Git tracks below a folder, relative to it; None without Git, or outside of a repository."""
    command = ["git", "-C", str(folder), "ls-files", "-z", "--", *patterns]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return [each for each in os.fsdecode(done.stdout).split("\0") if each] if done.returncode == 0 else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _digest(lines: Iterable[str]) -> str:
    return f"sha256:{hashlib.sha256(chr(10).join(lines).encode()).hexdigest()[:12]}…"
