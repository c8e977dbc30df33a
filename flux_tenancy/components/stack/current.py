"""The configuration of the current stack, as Pulumi has read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pulumi
from pulumi.runtime.config import CONFIG, is_config_secret

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.engine.config_file import ConfigFile, config_file
from flux_tenancy.components.stack.files.project_file import read_project_file
from flux_tenancy.components.stack.files.stack_file import ADDED, StackFile, read_stack_file
from flux_tenancy.components.stack.loading import difference, load_stack

if TYPE_CHECKING:
    from flux_tenancy.components.stack.config import StackConfig


def stack_file(project: Path, read: ConfigFile | None = None) -> StackFile:
    """The file of the current stack.

    Args:
        project: folder of the program.
        read: the file that Pulumi has read; None finds out from the command that runs the program.

    Raises:
        ConfigurationError: `Pulumi.yaml` cannot be read.
    """
    read = read or config_file()
    return read_stack_file(pulumi.get_stack(), read_project_file(project), read.given, read.known)


def read_stack(project: Path, file: StackFile) -> StackConfig:
    """Read the configuration of the current stack.

    `pulumi.Config` only reads keys by name. Unknown keys are errors here, so all of them are read.

    Args:
        project: folder of the program.
        file: the file of the stack.

    Raises:
        ConfigurationError: with every problem of the stack.
    """
    prefix = f"{pulumi.get_project()}:"
    values = {key.removeprefix(prefix): value for key, value in CONFIG.get().items() if key.startswith(prefix)}
    secret_keys = {key for key in values if is_config_secret(prefix + key)}
    foreign = {key for key in CONFIG.get() if not key.startswith(prefix)} - file.others
    if foreign and not file.imports:
        raise ConfigurationError([difference((key,), ADDED, file.name) for key in sorted(foreign)])
    return load_stack(pulumi.get_stack(), values, secret_keys, project, file)
