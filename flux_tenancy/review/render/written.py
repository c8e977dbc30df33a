"""A stack as its files have it: every key that is written in them, before they are merged, checked and given defaults.

Two versions are equal if and only if the same is written: comments, quotes and the order of keys are not in it, and
encrypted values are stand-ins (`components.config.types`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.yaml_files import read_mapping
from flux_tenancy.components.engine import PROJECT_FILE
from flux_tenancy.components.keys.known_hosts import read_known_hosts
from flux_tenancy.components.stack.files.project import read_project_file, tenant_file_name
from flux_tenancy.components.stack.files.secrets import ENCRYPTION, sealed, sealing
from flux_tenancy.components.stack.files.stack_file import read_stack_file, section_of, structured, with_shared
from flux_tenancy.components.stack.files.tenant_files import overlay

_CONFIG = "config"
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
            for entry in [_entries(self.values)[name]]
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
    config = document.get(_CONFIG)
    foreign = _foreign(config, described.name)
    others = {key: value for key, value in document.items() if key != _CONFIG}
    # A fingerprint tells that the encryption has changed.
    others |= {key: seal(key, str(value)) for key, value in others.items() if key in ENCRYPTION}
    shared = {**_foreign(described.content.get(_CONFIG), described.name), **with_shared({}, described.config)}
    of_project = sealed({**described.content, _CONFIG: shared}, (), seal, PROJECT_FILE, [])
    tenants = {
        tenant: sealed(_mapping(project / base, base), (_TENANTS, tenant), seal, base, [])
        for tenant in _entries(values)
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


def _entries(sections: Mapping[str, Any]) -> Mapping[str, Any]:
    found = sections.get(_TENANTS)
    return found if isinstance(found, Mapping) else {}
