"""What decides about an update besides the objects: configuration, target, program and packages, as plain data.

Nothing is in it that differs between the machine of the review and the one that applies: no absolute path, nothing of
the environment.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import flux_tenancy
from flux_tenancy.components.engine.project import PROJECT_FILE
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.written import Written
from flux_tenancy.version import VERSION

Facts = Mapping[str, Any]
"""By name; each is plain data."""
PROGRAM, PACKAGES, KUBECONFIG = "program", "packages", "kubeconfig"
"""The facts that no key of the stack shows."""

PACKAGE = Path(flux_tenancy.__file__).parent
"""The folder of the product; in a checkout, it has links to the folders with its sources."""
_CONFIG, _TENANT = "config/", "config/tenants/"
_MAIN = "__main__.py"
_REQUIREMENTS = "requirements.txt"
# Of a project without locked requirements.
_INSTALLED = ("pulumi", "pulumi-github", "pulumi-kubernetes")
_HASH = re.compile(r"\s--hash[= ]\S+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Keys of `Pulumi.yaml` that only describe the project, and the configuration, which is in the sections.
_NOT_DECIDING = frozenset({"author", "config", "description", "license", "template", "website"})


def stack_facts(config: StackConfig, written: Written, project: Path) -> dict[str, Any]:
    """What decides about the updates of a stack.

    Args:
        config: the stack.
        written: what is written in its files.
        project: folder of the Pulumi project.
    """
    found: dict[str, Any] = {
        PROGRAM: {"version": VERSION, "sources": sources_digest(), _MAIN: _file_digest(project / _MAIN)},
        PACKAGES: _packages(project),
        PROJECT_FILE: {key: value for key, value in written.project.items() if key not in _NOT_DECIDING},
        written.file: written.others,
    }
    if (content := _kubeconfig(config.cluster.kubeconfig, project)) is not None:
        found[KUBECONFIG] = content
    sections = written.merged
    tenants = sections.pop("tenants", None)
    found |= {f"{_CONFIG}{name}": value for name, value in sections.items()}
    if isinstance(tenants, Mapping):
        found |= {f"{_TENANT}{name}": value for name, value in tenants.items()}
    return found


def configuration(facts: Facts) -> dict[str, Any]:
    """The sections of a stack by top-level key, with each tenant merged over its base."""
    tenants = {name.removeprefix(_TENANT): value for name, value in facts.items() if name.startswith(_TENANT)}
    sections = {
        name.removeprefix(_CONFIG): value
        for name, value in facts.items()
        if name.startswith(_CONFIG) and not name.startswith(_TENANT)
    }
    return sections | ({"tenants": tenants} if tenants else {})


def digest_of(value: Any) -> str:
    """`sha256:…` of plain data, whatever the order of its keys."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return _sha256(canonical.encode())


@cache
def sources_digest() -> str:
    """`sha256:…` of the product's own sources: the same in a checkout and in an installed package."""
    # A glob does not follow links by itself.
    files = [*PACKAGE.glob("*.py"), *(file for folder in PACKAGE.iterdir() for file in folder.rglob("*.py"))]
    return digest_of({file.relative_to(PACKAGE).as_posix(): _file_digest(file) for file in files})


def _packages(project: Path) -> dict[str, str]:
    """The Python packages of the program: as its project requires them, else the engine's that are installed."""
    try:
        text = (project / _REQUIREMENTS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return dict(_installed(_INSTALLED))
    return dict(_required(text))


def _required(text: str) -> Iterator[tuple[str, str]]:
    """Each requirement by the name of its package; the digests of its files as one.

    Source: https://pip.pypa.io/en/stable/reference/requirements-file-format/
    """
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        hashes = sorted(each.split("--hash")[1][1:] for each in _HASH.findall(line))
        plain = " ".join(_HASH.sub("", line).split())
        if plain and (name := _NAME.match(plain)):
            rest = plain[name.end() :].strip()
            yield name[0].lower(), f"{rest} ({digest_of(hashes)[:19]}…)" if hashes else rest
        elif plain:
            option, _, value = plain.partition(" ")
            yield plain if not value else option, value


def _installed(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        try:
            yield name, f"=={metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue


def _kubeconfig(path: str | None, project: Path) -> str | None:
    """The digest of a kubeconfig that is a file of the repository; None for any other, which each machine has."""
    if path is None or Path(path).is_absolute():
        return None
    command = ["git", "-C", str(project), "ls-files", "--error-unmatch", "--", path]
    try:
        listed = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return None
    return _file_digest(project / path) if listed else None


def _file_digest(file: Path) -> str | None:
    """The digest of a text, whatever ends its lines: Git may write them otherwise on another machine."""
    try:
        return _sha256(file.read_bytes().replace(b"\r\n", b"\n"))
    except OSError:
        return None


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
