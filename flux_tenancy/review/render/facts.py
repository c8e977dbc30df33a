"""What decides about an update besides the objects: what is written, the target, and the code that runs, as plain data.

What is written is every key of a stack's files, before they are merged, checked and given defaults. Two versions are
equal if and only if the same is written: comments, quotes and the order of keys are not in it, and encrypted values are
stand-ins (`components.config.types`). Nothing is in it that differs between the machine of the review and the one that
applies: no absolute path, nothing of the environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Any

from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.yaml_files import read_mapping
from flux_tenancy.components.engine import PROJECT_FILE
from flux_tenancy.components.engine.code import (
    PACKAGE,
    REQUIREMENTS,
    code_files,
    files_below,
    installed_packages,
    read_by_pip,
    repository,
    resolved,
    text_of,
    tracked,
)
from flux_tenancy.components.keys.known_hosts import read_known_hosts
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.project import read_project_file, tenant_file_name
from flux_tenancy.components.stack.files.secrets import ENCRYPTION, sealed, sealing
from flux_tenancy.components.stack.files.stack_file import read_stack_file, section_of, structured, with_shared
from flux_tenancy.components.stack.files.tenant_files import overlay
from flux_tenancy.version import VERSION

_SECTIONS = "config"
_TENANTS = "tenants"


@dataclass(frozen=True)
class Written:
    """What is written in the files of a stack. A file that cannot be read counts as empty.

    Attributes:
        sections: this project's keys in it, without the project's name.
        values: these keys, completed by those that `Pulumi.yaml` sets for all stacks.
        others: its further keys: Pulumi's own configuration, environments, and how its secrets are encrypted.
        project: `Pulumi.yaml`, in which `config` has this project's keys without its name.
        tenants: the base of each tenant that the stack lists.
        known_hosts: the lines of the file that `git.knownHostsFile` names, by the name of the file.
    """

    file: str = ""
    sections: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)
    project: Mapping[str, Any] = field(default_factory=dict)
    tenants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    known_hosts: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def merged(self) -> dict[str, Any]:
        """The sections of the stack, each tenant merged over its base."""
        # An entry without keys may be nothing, or the text `{}` (`files.tenant_files`).
        tenants = {
            name: overlay(base, tenant_file_name(name), entry if isinstance(entry, Mapping) else {}, self.file).value
            for name, base in self.tenants.items()
            for entry in [section_at(self.values, _TENANTS)[name]]
        }
        return {**self.values} | ({_TENANTS: tenants} if tenants else {})


def read_written(stack: str, project: Path) -> Written:
    """Read what is written in the files of a stack, of which at least the project's own is valid.

    Args:
        project: folder of the Pulumi project, which contains `tenants/`.

    Raises:
        ConfigurationError: `Pulumi.yaml` cannot be read, or no stack may have this name.
    """
    described = read_project_file(project)
    file = read_stack_file(stack, described)
    name = file.name
    document = file.content
    seal = sealing(document)
    plain = {
        section: structured(value) if isinstance(value, str) else value for section, value in file.sections.items()
    }
    sections, values = (
        {key: sealed(value, (key,), seal, name, []) for key, value in found.items()}
        for found in (plain, with_shared(plain, described.config))
    )
    config = document.get(_SECTIONS)
    foreign = _foreign(config, described.name)
    others = {key: value for key, value in document.items() if key != _SECTIONS}
    # A fingerprint tells that the encryption has changed.
    others |= {key: seal(key, str(value)) for key, value in others.items() if key in ENCRYPTION}
    shared = {**_foreign(described.content.get(_SECTIONS), described.name), **with_shared({}, described.config)}
    of_project = sealed({**described.content, _SECTIONS: shared}, (), seal, PROJECT_FILE, [])
    tenants = {
        tenant: sealed(_mapping(project / base, base), (_TENANTS, tenant), seal, base, [])
        for tenant in section_at(values, _TENANTS)
        for base in [tenant_file_name(tenant)]
    }
    git = values.get("git")
    lines, unreadable = read_known_hosts(git, name, project)
    hosts = {str(git["knownHostsFile"]): list(lines)} if lines and not unreadable and isinstance(git, Mapping) else {}
    return Written(name, sections, values, sealed(others | foreign, (), seal, name, []), of_project, tenants, hosts)


def _mapping(file: Path, name: str) -> dict[str, Any]:
    found = read_mapping(file, name)
    return {} if isinstance(found, Problem) else found


def _foreign(config: Any, project: str) -> dict[str, Any]:
    """The keys below `config` that are not this project's."""
    found = config.items() if isinstance(config, Mapping) else ()
    return {str(key): value for key, value in found if section_of(str(key), project) is None}


def section_at(sections: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """A section of what is written, which nobody has checked; empty for one that is none."""
    found: Any = sections
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


Facts = Mapping[str, Any]
"""By name; each is plain data."""
PROGRAM, PACKAGES, INSTALLED, KUBECONFIG, WORKFLOWS = "program", "packages", "installed", "kubeconfig", "workflows"
"""The facts that no key of the stack shows."""

_CONFIG, _TENANT = "config/", "config/tenants/"
_DATA = (".yaml", ".txt")
_HASH = re.compile(r"\s--hash[= ]\S+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Keys of `Pulumi.yaml` that only describe the project, and the configuration, which is in the sections.
_NOT_DECIDING = frozenset({"author", "config", "description", "license", "template", "website"})
_LOCKS = {"uv": ("pyproject.toml", "uv.lock", "uv.toml"), "poetry": ("pyproject.toml", "poetry.lock")}
"""By `runtime.options.toolchain` of `Pulumi.yaml`, what Pulumi installs from instead of `requirements.txt`."""
WORKFLOW_FILES = (
    *(f".github/{name}" for name in ("workflows", "actions", "scripts", "CODEOWNERS")),
    *("CODEOWNERS", "docs/CODEOWNERS", ".gitlab-ci.yml"),
)
_LONGEST_PATH = 1024


def stack_facts(config: StackConfig, written: Written, project: Path) -> dict[str, Any]:
    """What decides about the updates of a stack."""
    found: dict[str, Any] = {
        PROGRAM: {
            "version": VERSION,
            "sources": sources_digest(),
            **_own_code(written.project, project),
            **_digests((_relative(each, project), each) for each in read_by_pip(project)),
        },
        PACKAGES: _packages(written.project, project),
        INSTALLED: installed_packages(),
        PROJECT_FILE: {key: value for key, value in written.project.items() if key not in _NOT_DECIDING},
        written.file: written.others,
    }
    if foreign := {key: value for key, value in (written.project.get("config") or {}).items() if ":" in key}:
        found[PROJECT_FILE]["config"] = foreign
    if (content := _kubeconfig(config.cluster.kubeconfig, project)) is not None:
        found[KUBECONFIG] = content
    if workflows := _digests(_workflows(project)):
        found[WORKFLOWS] = workflows
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
    return _sha256(canonical.encode("utf-8", "surrogatepass"))


@cache
def sources_digest() -> str:
    """`sha256:…` of the product's own sources: the same in a checkout and in an installed package."""
    # A glob does not follow links by itself.
    files = [each for each in PACKAGE.iterdir() if each.is_file()]
    files += [file for folder in PACKAGE.iterdir() for file in folder.rglob("*") if "__pycache__" not in file.parts]
    loadable = (file for file in files if file.name.endswith((*all_suffixes(), *_DATA)))
    return digest_of({file.relative_to(PACKAGE).as_posix(): _file_digest(file) for file in loadable})


def _own_code(content: Mapping[str, Any], project: Path) -> dict[str, str]:
    """The project's own modules, and the plugins that `Pulumi.yaml` has the engine start from a folder."""
    found = _digests((each.relative_to(project).as_posix(), each) for each in code_files(project))
    main = str(content.get("main") or "")
    if main:
        found |= _digests(_below(project / main, main))
    for kind in section_at(content, "plugins").values():
        for each in kind if isinstance(kind, list) else ():
            path = str(each.get("path", "")) if isinstance(each, Mapping) else ""
            found |= _digests(_below(project / path, path)) if path else {}
    return found


def _packages(content: Mapping[str, Any], project: Path) -> dict[str, str]:
    """What the project requires: each requirement by the name of its package, and each file that is read for it."""
    found = dict(_required(project / REQUIREMENTS))
    toolchain = section_at(content, "runtime", "options").get("toolchain")
    return found | _digests((name, project / name) for name in _LOCKS.get(str(toolchain), ()))


def _required(file: Path) -> Iterator[tuple[str, str]]:
    """Each requirement by the name of its package, the digests of its files as one.

    Source: https://pip.pypa.io/en/stable/reference/requirements-file-format/
    """
    for line in re.sub(r"\\\r?\n", " ", text_of(file)).splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        hashes = sorted(each.split("--hash")[1][1:] for each in _HASH.findall(line))
        plain = " ".join(_HASH.sub("", line).split())
        if name := _NAME.match(plain):
            rest = plain[name.end() :].strip()
            yield name[0].lower(), f"{rest} ({digest_of(hashes)[:19]}…)" if hashes else rest


def _relative(file: Path, project: Path) -> str:
    return Path(os.path.relpath(file, project)).as_posix()


def _kubeconfig(path: str | None, project: Path) -> Any:
    """The digests of a kubeconfig that is a file of the repository, and of the files that it names there.

    None for any other: each machine has its own.
    """
    if path is None or Path(path).is_absolute() or not tracked(project, str(resolved(project / path))):
        return None
    content = read_mapping(project / path, path)
    names = () if isinstance(content, Problem) else sorted(set(_texts(content)))
    folders = ((project / path).parent, project)
    found = (next(filter(None, (list(files_below(each / name)) for each in folders)), []) for name in _short(names))
    named = _digests((_relative(file, project), file) for files in found for file in files)
    own = _file_digest(project / path)
    return {"file": own, "named": named} if named else own


def _texts(value: Any) -> Iterator[str]:
    """All words in a kubeconfig that may be the path of a file in the repository."""
    if isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield from re.split(r"[\s=]+", value)


def _short(names: Iterable[str]) -> Iterator[str]:
    """Those that can be a path below a folder; one that leads to the folder itself or above it names no file."""
    for name in names:
        if 0 < len(name) < _LONGEST_PATH and "\0" not in name and not name.startswith(("/", "~")) and name.strip("./"):
            yield name


def _workflows(project: Path) -> Iterator[tuple[str, Path]]:
    """What of the repository decides who approves a change, and how it is applied."""
    top = repository(project) or project
    for name in WORKFLOW_FILES:
        yield from _below(top / name, name)


def _below(path: Path, name: str) -> Iterator[tuple[str, Path]]:
    """A file, or all files in a folder, each with its name."""
    for each in files_below(path):
        yield (name if each == path else f"{name}/{each.relative_to(path).as_posix()}"), each


def _digests(files: Iterable[tuple[str, Path]]) -> dict[str, str]:
    return {name: digest for name, file in files if (digest := _file_digest(file)) is not None}


def _file_digest(file: Path) -> str | None:
    """The digest of a file; of a text, whatever ends its lines: Git may write them otherwise on another machine."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    return _sha256(content if b"\0" in content else content.replace(b"\r\n", b"\n"))


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
