"""`Pulumi.yaml`: the project's name, the folder of its stacks' files, and the configuration that all stacks share.

Source: https://www.pulumi.com/docs/iac/concepts/projects/project-file/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flux_tenancy.components.config.errors import MISSING, ConfigurationError, KeyPath, Problem
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.yaml_files import read_mapping
from flux_tenancy.components.engine.project import PROJECT_FILE

_JSON_FILE = "Pulumi.json"
"""Pulumi reads it, and the stacks' files with the same ending, instead of Pulumi.yaml."""

SharedValues = tuple[tuple[KeyPath, Any], ...]
"""Values that all stacks share, each with its path, in the order in which Pulumi sets them."""
_SEGMENT = re.compile(r'"([^"]*)"|([^.\[\]"]+)')


@dataclass(frozen=True)
class ProjectFile:
    """The parts of `Pulumi.yaml` that the program uses.

    Attributes:
        name: the project's name, the namespace of its keys in a stack's file.
        stack_folder: folder of the stacks' files.
        config: the values that it sets for all stacks; none of them is encrypted.
    """

    name: str
    stack_folder: Path
    config: SharedValues = ()
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def environment(self) -> str:
        """The folder of the packages that Pulumi installs, as its option names it."""
        runtime = self.content.get("runtime")
        options = runtime.get("options") if isinstance(runtime, Mapping) else None
        return str((options.get("virtualenv") if isinstance(options, Mapping) else None) or ".venv")


def read_project_file(project: Path) -> ProjectFile:
    """Read `Pulumi.yaml`.

    Args:
        project: the folder that contains it or, with `main` in it, one below.

    Raises:
        ConfigurationError: it cannot be read, or has no name.
    """
    project = next((folder for folder in (project, *project.parents) if (folder / PROJECT_FILE).is_file()), project)
    if (project / _JSON_FILE).exists():
        raise ConfigurationError(
            [
                Problem(
                    _JSON_FILE,
                    "",
                    Message("FT-CFG-632", f"hides {PROJECT_FILE}: Pulumi would read this file instead", "remove it"),
                )
            ]
        )
    content = read_mapping(project / PROJECT_FILE, PROJECT_FILE, as_pulumi=True)
    if isinstance(content, Problem):
        raise ConfigurationError([content])
    name = content.get("name")
    if not isinstance(name, str) or not name:
        raise ConfigurationError([Problem(PROJECT_FILE, "name", MISSING())])
    main = str(content.get("main") or "")
    if "\0" in main or not (project / main).resolve().is_relative_to(project.resolve()):
        raise ConfigurationError(
            [
                Problem(
                    PROJECT_FILE,
                    "main",
                    Message("FT-CFG-637", "leads out of the project, so no review sees what runs", "move it here"),
                )
            ]
        )
    config = content.get("config")
    # In older versions of Pulumi, `config` was the folder.
    folder = content.get("stackConfigDir", config if isinstance(config, str) else "")
    values = tuple(_values(config, name)) if isinstance(config, Mapping) else ()
    return ProjectFile(name, project / str(folder or ""), values, content)


def _values(config: Mapping[str, Any], project: str) -> Iterator[tuple[KeyPath, Any]]:
    """The values of this project; a key is a path such as `policies.engine`, with or without the project in front."""
    for key, entry in sorted((str(key), entry) for key, entry in config.items()):
        namespace, colon, path = key.rpartition(":")
        if colon and namespace not in (project, f"{project}:config"):
            continue
        value = entry.get("value", entry.get("default")) if isinstance(entry, Mapping) else entry
        if value is not None:
            yield tuple(quoted or plain for quoted, plain in _SEGMENT.findall(path)) or (path,), value
