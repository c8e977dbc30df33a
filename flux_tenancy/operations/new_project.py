"""A new project: the files of `template/`, which `pulumi new` copies as well."""

from __future__ import annotations

import re
from functools import reduce
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import yaml

from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.components.engine import PROJECT_FILE
from flux_tenancy.components.stack.files.project import StackName, stack_file_name
from flux_tenancy.operations.files.yaml_edits import with_value
from flux_tenancy.project.errors import OperationError, reading_files

# Pulumi replaces it in every file of a template, but breaks the line after it where the file ends in `.yaml`, so the
# example of a stack does not.
# Source: CopyTemplateFiles in pkg/cmd/pulumi/templates/project_templates.go of Pulumi
_NAME = "${PROJECT}"
_SECTION = "template"
_EXAMPLE = "Pulumi.stack.example"
# Source: ValidateProjectName in sdk/go/common/tokens/project.go of Pulumi
_PROJECT_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")


def new_project(folder: Path, stack: str, context: str, production: bool = True) -> list[Path]:
    """Write the files of a new project, named like its folder; returns them.

    Args:
        folder: where to write; it is created, and must be empty if it exists.
        stack: name of its first stack, and of the folder that its tenant's sync reads.
        context: the context of its cluster in the kubeconfig.
        production: whether its cluster is a production environment.

    Raises:
        OperationError: the folder is not empty, or a name is not valid.
        OSError: the folder cannot be written.
    """
    name = folder.absolute().name
    if not _PROJECT_NAME.fullmatch(name):
        raise OperationError(
            Message(
                "FT-CMD-004",
                f"{printable(name)!r} is not a valid project name",
                "choose a folder name of at most 100 letters, digits, `-`, `_` and `.`",
            )
        )
    with reading_files():
        stack_file, place = stack_file_name(stack), f"./{StackName.parse(stack).stack}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OperationError(
            Message("FT-CMD-005", f"{folder} exists and is not an empty folder", "choose a new folder")
        )
    texts = {path: _filled(path, text, name) for path, text in _template(files("flux_tenancy").joinpath("template"))}
    values = {
        ("config", f"{name}:cluster", "context"): context,
        ("config", f"{name}:cluster", "production"): production,
        ("config", f"{name}:tenants", "my-team", "sync", "path"): place,
    }
    texts[stack_file] = reduce(lambda text, value: with_value(text, *value), values.items(), texts[_EXAMPLE])
    return [_write(folder / path, text) for path, text in sorted(texts.items())]


def _template(folder: Traversable, below: str = "") -> list[tuple[str, str]]:
    """The path and the text of each file, without what Python leaves behind."""
    found = []
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if each.is_file():
            found.append((below + each.name, each.read_text(encoding="utf-8")))
        elif each.name != "__pycache__":
            found += _template(each, f"{below}{each.name}/")
    return found


def _filled(path: str, text: str, name: str) -> str:
    """The text of a file for a project."""
    if path == PROJECT_FILE:
        content = yaml.safe_load(text)
        description = content.pop(_SECTION)["description"]
        return str(yaml.dump(content | {"name": name, "description": description}, Dumper=Dumper, sort_keys=False))
    return text.replace(_NAME, name)


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file
