"""The code that a run executes: this program, the project's own modules, and the installed packages.

Python looks into the project's folder before it looks anywhere else. Whatever is there by the name of another module,
in any form that Python loads, runs in its place, with the credentials of the update. So nothing may hide there, and all
code that Git tracks in the project is part of what reviewers approve. Every part of the program runs Git as here: in a
folder, and in no repository but the one that the folder is in.
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

from packaging.requirements import InvalidRequirement, Requirement

from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message, printable

PACKAGE = Path(__file__).resolve().parents[2]
"""The folder of the product."""
DISTRIBUTION = "flux-tenancy"
REQUIREMENTS = "requirements.txt"
_TOOLS = frozenset({"pip", "setuptools", "wheel"})
"""Packages that install others, and which each machine has in a version of its own."""
_MAIN = "__main__"
_SUFFIXES = (*all_suffixes(), ".pth")
_ARCHIVES = (".whl", ".zip", ".egg")
"""Endings of the files that Python loads, and of archives from which it can."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HASHES = re.compile(r"\s--hash[= ]\S+")
_RECORDED = re.compile(r"^(?!\.\./).*\.(?:py|pth),sha256=[^,]*", re.MULTILINE)
_CACHE = "__pycache__"
_ENVIRONMENT = ".venv"
_OF_PYTHONS_TESTS = frozenset({"test"})
"""Modules of the standard library that no program imports, and a project may have."""


def code_problems(project: Path, environment: str = _ENVIRONMENT) -> list[Problem]:
    """Why other code would run than the one that is installed and reviewed. Raises ConfigurationError: Git fails."""
    problems = [
        Problem(
            str(file.relative_to(project)),
            "",
            Message(
                "FT-CFG-633",
                f"would run instead of {printable(hidden)}, which Python finds after it",
                "remove it, or give it another name",
            ),
        )
        for file, hidden in hiding(project)
    ]
    for name in sorted({_ENVIRONMENT, environment}):
        if tracked(project, name):
            problems.append(
                Problem(
                    name,
                    "",
                    Message(
                        "FT-CFG-635",
                        "is tracked by Git, so its programs would run in place of those that are installed",
                        f"run `git rm -r --cached {name}`, and ignore it",
                    ),
                )
            )
    for file in requirement_files(project):
        problems += (
            Problem(
                os.path.relpath(file, project),
                name,
                Message("FT-CFG-634", f"is {version}, but {installed} is installed", "run `pulumi install`"),
            )
            for name, version, installed in _other_versions(file)
        )
    return problems


def requirement_files(project: Path) -> list[Path]:
    """`requirements.txt` of a project, and each file that a word of it, or of such a file, is the path of.

    pip reads requirements and constraints that are included; a reading of our own could differ from pip's.

    Source: https://pip.pypa.io/en/stable/reference/requirements-file-format/
    """
    found: dict[Path, Path] = {}
    waiting = [project / REQUIREMENTS]
    while waiting:
        file = waiting.pop(0)
        if _is_text(file) and file.resolve() not in found:
            found[file.resolve()] = file
            waiting += _named(file, project)
    return list(found.values())


def read_by_pip(project: Path) -> Iterator[Path]:
    """The files that pip reads for a project: its requirements, and the packages that they name by a path."""
    for file in requirement_files(project):
        yield file
        for named in _named(file, project):
            if not _is_text(named):
                yield from files_below(named)


def _is_text(path: Path) -> bool:
    return is_file(path) and not path.name.endswith((*_ARCHIVES, ".tar.gz"))


def _named(file: Path, project: Path) -> Iterator[Path]:
    """The paths that the words of a file may be; the project itself is in each digest anyway."""
    for word in sorted(set(re.split(r"[\s=,;@'\"]+", text_of(file)))):
        for text in {word, re.sub(r"^-[A-Za-z]", "", word)} - {"", ".", ".."}:
            named = file.parent / re.sub(r"^file:(//)?|\[[^]]*\]$|#.*$", "", text)
            if not project.resolve().is_relative_to(resolved(named)):
                yield named


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
    for below in sorted(each for each in _children(folder) if each.name.isidentifier() and _is_folder(each)):
        # The parts of a namespace package are searched in the same order.
        spec = PathFinder.find_spec(f"{package}{below.name}", elsewhere) if not _forms(below, "__init__") else None
        if spec is not None and spec.origin is None and spec.submodule_search_locations:
            yield from _hiding(below, list(spec.submodule_search_locations), f"{package}{below.name}.")


def _origin(name: str, elsewhere: Sequence[str], package: str) -> str | None:
    """Where Python would find a module without the project's folder; None if nowhere."""
    if not package and name in sys.stdlib_module_names - _OF_PYTHONS_TESTS:
        return f"Python's own module {name}"
    spec = PathFinder.find_spec(f"{package}{name}", elsewhere) if name not in _OF_PYTHONS_TESTS else None
    if spec is not None and spec.origin is not None:
        return spec.origin
    # An editable installation is on no path.
    return str(PACKAGE / "__init__.py") if (package, name) == ("", PACKAGE.name) else None


def _forms(folder: Path, name: str) -> list[Path]:
    """The files of a module, and the folder of a package, in whichever form."""
    files = [folder / f"{name}{suffix}" for suffix in all_suffixes()]
    packages = [folder / name for suffix in all_suffixes() if is_file(folder / name / f"__init__{suffix}")]
    return [each for each in (*files, *packages[:1]) if is_file(each) or _is_folder(each)]


def _is_same(file: Path, origin: str) -> bool:
    return Path(origin).resolve() in (file.resolve(), (file / "__init__.py").resolve())


def _other_versions(requirements: Path) -> Iterator[tuple[str, str, str]]:
    """The pinned packages of which another version is installed: name, pinned and installed version."""
    for line in text_of(requirements).splitlines():
        text = _HASHES.sub("", line.partition(" #")[0].strip().removesuffix("\\"))
        try:
            required = Requirement(text)
        except InvalidRequirement:
            continue  # An option, a comment, or a path; the digest has them by their content.
        found = _distributions().get(_canonical(required.name))
        if found is None or (required.marker is not None and not required.marker.evaluate()):
            continue
        if not required.specifier.contains(installed := _version(found), prereleases=True):
            yield required.name, str(required.specifier), installed


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
        version, recorded = _version(metadata), sorted(_RECORDED.findall(text_of(metadata / "RECORD")))
        # The product's own sources are in the digest, wherever they are.
        found[name] = version if name == DISTRIBUTION else f"{version} {_digest(recorded)}"
        required = re.findall(
            r"^Requires-Dist: (.*)", text_of(metadata / "METADATA").partition("\n\n")[0], re.MULTILINE
        )
        waiting += [each[0] for line in required if "extra ==" not in line and (each := _NAME.match(line))]
    return {name: found[name] for name in sorted(found.keys() - _TOOLS)}


def code_files(project: Path) -> list[Path]:
    """The project's own files that Python can load, without those of the product.

    In Git, these are the tracked ones, and the modules and packages in the folder itself; elsewhere all of them.
    """
    is_checkout = PACKAGE.parent == project.resolve()
    listed = tracked(project)
    # A checkout of the product has folders for its maintainers, which no run imports.
    below = () if is_checkout else [project] if listed is None else map(project.joinpath, listed)
    found = {file for each in below for file in files_below(each) if file.name.endswith((*_SUFFIXES, *_ARCHIVES))}
    for each in _children(project):
        is_package = not is_checkout and _is_folder(each) and bool(_forms(each, "__init__"))
        found |= {file for file in (files_below(each) if is_package else [each]) if file.name.endswith(_SUFFIXES)}
    loadable = (each for each in found if is_file(each))
    return sorted(each for each in loadable if not each.resolve().is_relative_to(PACKAGE) or each.suffix == ".pyc")


def files_below(path: Path) -> Iterator[Path]:
    """A file, or all files in a folder and behind its links; without what is hidden, cached or installed there."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        each = waiting.pop()
        if is_file(each):
            yield each
        elif _is_folder(each) and (real := each.resolve()) not in seen and real != Path(sys.prefix).resolve():
            seen.add(real)
            waiting += [child for child in _children(each) if not _is_machines(child.name)]


def _is_machines(name: str) -> bool:
    """Whether a name is one of what each machine makes for itself."""
    return name == _CACHE or name.startswith(".") or name.endswith(".egg-info")


def is_file(path: Path) -> bool:
    """Whether there is a file; not so if the path cannot even be one."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def resolved(path: Path) -> Path:
    """A path without links; as it is if it cannot be one."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        return path


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def text_of(file: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ""


def _digest(lines: Iterable[str]) -> str:
    return f"sha256:{hashlib.sha256(chr(10).join(lines).encode()).hexdigest()[:12]}…"


_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
"""Variables that lead Git to another repository, such as those of a hook."""


def git(
    folder: Path, *arguments: str, stdin: bytes | None = None, at: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run Git in a folder; a caller looks at the exit code.

    Args:
        at: what leads Git to another index or work tree than those of the folder.

    Raises:
        FileNotFoundError: there is no Git.
    """
    environ = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE} | dict(at or {})
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, check=False, input=stdin, env=environ
    )


def repository(folder: Path) -> Path | None:
    """The top of the Git repository that a folder is in."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def tracked(folder: Path, *paths: str) -> list[str] | None:
    """The files that Git tracks below a folder, relative to it; None without Git, or outside of a repository.

    Raises:
        ConfigurationError: Git fails, e.g. because the repository is another user's.
    """
    top = repository(folder)
    inside = [each for each in paths if top and (folder / each).resolve().is_relative_to(top.resolve())]
    if top is None or paths and not inside:
        return None if top is None else []
    try:
        done = git(folder, "ls-files", "-z", "--", *inside)
    except FileNotFoundError:
        return None
    if done.returncode:
        reason = printable((os.fsdecode(done.stderr).strip().splitlines() or [f"exit code {done.returncode}"])[0])
        message = Message(
            "FT-CFG-636", f"Git cannot list the files of the project: {reason}", "correct it, and try again"
        )
        raise ConfigurationError([Problem(".git", "", message)])
    return [each for each in os.fsdecode(done.stdout).split("\0") if each]
